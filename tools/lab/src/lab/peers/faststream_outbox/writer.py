"""python -m lab.peers.faststream_outbox.writer: order and message in one transaction."""

import asyncio

from faststream_outbox import OutboxBroker
from sqlalchemy.ext.asyncio import async_sessionmaker

from lab.peers.faststream_outbox.tables import QUEUE, PurchaseOrder, make_engine, outbox_table
from lab.peers.intake import Order, write_each


async def main() -> None:
    """Write every order."""
    engine = make_engine()
    broker = OutboxBroker(engine, outbox_table=outbox_table)
    session_factory = async_sessionmaker(engine, expire_on_commit=False)

    async def write(order: Order) -> None:
        row = PurchaseOrder(
            order_id=order["order_id"],
            customer_id=order["customer_id"],
            lines=order["lines"],
        )
        async with session_factory() as session, session.begin():
            session.add(row)
            await broker.publish(order, queue=QUEUE, session=session)

    await write_each(write)


if __name__ == "__main__":
    asyncio.run(main())
