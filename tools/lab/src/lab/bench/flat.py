"""Whether an order costs the same, however many rows the tables have already."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from lab.bench.fill import fill_service
from lab.bench.numbers import Number, Target, compare
from lab.bench.write import COUNT, ours, service_settings
from lab.environment import connect_as_admin, drop_databases, make_databases, make_topic
from lab.reference_orders import FIRST, send
from ops.produce import connect
from ops.stack.stack import Stack
from spark.statements import read_statements

TOPIC = "flat"
SMALL, LARGE = 10_000, 1_000_000  # orders that are there; the others have higher numbers
MOST = 10_000  # orders in a round: more would make the small tables large
FOUND = f"{COUNT} where tracking.topic = '{TOPIC}'"
TAKE_BACK = read_statements(Path(__file__).with_suffix(".sql"))


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Return the rates of the write path in small and in large tables, and their ratio."""
    count = min(orders, MOST)
    servers = stack.env()["KAFKA_BOOTSTRAP_SERVERS"]
    make_topic(servers, TOPIC, partitions=3)
    send(connect(servers), TOPIC, range(FIRST, FIRST + count))
    with filled(stack, SMALL) as small, filled(stack, LARGE) as large:
        arms = {
            f"in {LARGE:,} rows": partial(rate, large, count),
            f"in {SMALL:,} rows": partial(rate, small, count),
        }
        targets = {" / ".join(arms): Target(goal="± 0.2", must="± 0.35")}
        return compare("flat", arms, targets, rounds, stack.step)


@contextmanager
def filled(stack: Stack, orders: int) -> Iterator[dict[str, str]]:
    """Yield the environment of databases in which these many orders have left their rows."""
    env = make_databases(stack, f"filled_{orders}")
    try:
        with (
            stack.step(f"flat: fill the tables with {orders:,} orders"),
            connect_as_admin(env, "DATABASE_URL") as service,
        ):
            fill_service(service, 1, orders)
        yield env | {"INPUT_TOPIC": TOPIC}
    finally:
        drop_databases(env)


def rate(env: dict[str, str], count: int) -> float:
    """Return orders a second of the write path, in tables that have the filled rows alone."""
    take_back(env, count)
    seconds = ours(service_settings(env), count)
    with connect_as_admin(env, "DATABASE_URL") as admin:
        found = admin.execute(FOUND.encode()).fetchone()
    assert found == (count,), f"{found} of {count} orders were written: the rate means nothing"
    return count / seconds


def take_back(env: dict[str, str], count: int) -> None:
    """Delete what the round before has written."""
    orders: Mapping[str, int] = {"first": FIRST, "last": FIRST + count - 1}
    with connect_as_admin(env, "DATABASE_URL") as admin:
        for statement in TAKE_BACK.values():
            admin.execute(statement.format(**orders).encode())
