"""python -m lab.peers.polling.writer: order and outbox row in one transaction."""

import json
import os
from functools import partial
from typing import Any

import psycopg

from lab.peers.intake import Order, write_each_in_threads

INSERT_ORDER = """
    insert into purchase_order (order_id, customer_id, lines)
    values (%(order_id)s, %(customer_id)s, %(lines)s)
"""
INSERT_EVENT = """
    insert into outbox (aggregate_id, type, payload) values (%s, 'order.created', %s)
"""


def write(database: psycopg.Connection[Any], order: Order) -> None:
    """Write one order."""
    row = order | {"lines": json.dumps(order["lines"])}
    with database.transaction():
        database.execute(INSERT_ORDER, row)
        database.execute(INSERT_EVENT, [order["order_id"], json.dumps(order)])


if __name__ == "__main__":
    connect = partial(psycopg.connect, os.environ["DATABASE_URL"], autocommit=True)
    write_each_in_threads(connect, write)
