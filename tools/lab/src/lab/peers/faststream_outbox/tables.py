"""python -m lab.peers.faststream_outbox.tables: the row of the business, and its outbox table."""

import asyncio
import os
from typing import Any

from faststream_outbox import make_outbox_table
from faststream_outbox.autovacuum import outbox_autovacuum_ddl
from sqlalchemy import JSON, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

QUEUE = "orders_outbox"


class Base(DeclarativeBase):
    """The tables of the application."""


class PurchaseOrder(Base):
    """What the business keeps of an order."""

    __tablename__ = "purchase_order"

    order_id: Mapped[str] = mapped_column(primary_key=True)
    customer_id: Mapped[str]
    lines: Mapped[list[dict[str, Any]]] = mapped_column(JSON)


outbox_table = make_outbox_table(Base.metadata, table_name="outbox")


def make_engine() -> AsyncEngine:
    """Return the engine, with asyncpg: then a publish wakes the relay."""
    return create_async_engine(os.environ["DATABASE_URL"].replace("://", "+asyncpg://", 1))


async def make_tables() -> None:
    """Make the tables, with the autovacuum that its pages recommend for the outbox."""
    engine = make_engine()
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
        await connection.execute(text(outbox_autovacuum_ddl("outbox")))
    await engine.dispose()


if __name__ == "__main__":
    asyncio.run(make_tables())
