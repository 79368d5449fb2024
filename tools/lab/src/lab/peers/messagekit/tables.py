"""python -m lab.peers.messagekit.tables: the row of the business, and its own outbox table."""

import asyncio
import os
from typing import Any

from messagekit.infrastructure.persistence import OutboxEventRecord, create_session_factory
from messagekit.infrastructure.persistence.orm_models import Base
from sqlalchemy import JSON
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
from sqlalchemy.orm import Mapped, mapped_column

Sessions = async_sessionmaker[AsyncSession]


class PurchaseOrder(Base):
    """What the business keeps of an order."""

    __tablename__ = "purchase_order"

    order_id: Mapped[str] = mapped_column(primary_key=True)
    customer_id: Mapped[str]
    lines: Mapped[list[dict[str, Any]]] = mapped_column(JSON)


TABLES = [PurchaseOrder.__table__, OutboxEventRecord.__table__]


def connect() -> tuple[AsyncEngine, Sessions]:
    """Return engine and sessions as its own helper makes them."""
    url = os.environ["DATABASE_URL"].replace("://", "+asyncpg://", 1)
    engine, sessions = create_session_factory(url)
    return engine, sessions


async def make_tables() -> None:
    """Make the tables."""
    engine, _ = connect()
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all, tables=TABLES)
    await engine.dispose()


if __name__ == "__main__":
    asyncio.run(make_tables())
