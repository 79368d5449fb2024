"""python -m lab.peers.debezium.writer: what the example's order service does with an order.

It inserts the event and deletes it in the same transaction, as its compose file says with
QUARKUS_DEBEZIUM_OUTBOX_REMOVE_AFTER_INSERT=true: the log keeps both, the table nothing.
"""

import json
import os
from functools import partial
from typing import Any
from uuid import uuid4

import psycopg

from lab.peers.intake import Order, write_each_in_threads

INSERT_ORDER = """
    insert into inventory.purchaseorder (id, customerid, orderdate, lineitems)
    values (%(order_id)s, %(customer_id)s, %(placed_at)s, %(lines)s)
"""
INSERT_EVENT = """
    insert into inventory.outboxevent (id, aggregatetype, aggregateid, type, timestamp, payload)
    values (%s, 'Order', %s, 'OrderCreated', now(), %s)
"""
DELETE_EVENT = "delete from inventory.outboxevent where id = %s"


def write(database: psycopg.Connection[Any], order: Order) -> None:
    """Write one order."""
    event_id = uuid4()
    row = order | {"lines": json.dumps(order["lines"])}
    with database.transaction():
        database.execute(INSERT_ORDER, row)
        database.execute(INSERT_EVENT, [event_id, order["order_id"], json.dumps(order)])
        database.execute(DELETE_EVENT, [event_id])


if __name__ == "__main__":
    connect = partial(psycopg.connect, os.environ["DATABASE_URL"], autocommit=True)
    write_each_in_threads(connect, write)
