"""python -m lab.peers.messagekit.writer: order and event in one transaction, by its API."""

import asyncio

from messagekit.core import BaseEvent
from messagekit.infrastructure import SqlAlchemyOutboxRepository

from lab.peers.intake import Order, write_each
from lab.peers.messagekit.tables import PurchaseOrder, connect


class OrderCreated(BaseEvent):
    """An order was placed."""

    event_type: str = "orders.order.created"
    source: str = "order-service"
    order: Order


async def main() -> None:
    """Write every order."""
    _, sessions = connect()
    outbox = SqlAlchemyOutboxRepository(sessions)

    async def write(order: Order) -> None:
        row = PurchaseOrder(
            order_id=order["order_id"],
            customer_id=order["customer_id"],
            lines=order["lines"],
        )
        async with sessions() as session:
            session.add(row)
            event = OrderCreated(aggregate_id=order["order_id"], order=order)
            await outbox.add_event(event, session=session)
            await session.commit()

    await write_each(write)


if __name__ == "__main__":
    asyncio.run(main())
