"""What a load does to each part: pure functions of the constants, for the plan and the check."""

from collections.abc import Mapping

from contract.names import INPUT_TOPIC
from lab.size.constants import Constants
from lab.size.queueing import Server, distinct
from lab.size.setup import Setup

PAGE = 8192  # bytes of one of PostgreSQL's pages
LINGER_SECONDS = 0.005  # for which the producer of the orders waits for company


def worker(constants: Constants, setup: Setup) -> Server:
    """Return one service process."""
    measured = constants.worker
    return Server(
        setup.window_seconds, measured.fixed_seconds, measured.each_seconds, setup.batch_records
    )


def task(constants: Constants, setup: Setup) -> Server:
    """Return the task of one connector."""
    measured = constants.connect
    return Server(
        setup.poll_seconds, measured.fixed_seconds, measured.each_seconds, setup.batch_events
    )


def latency(constants: Constants, setup: Setup, of_worker: float, of_task: float) -> float:
    """Return the usual seconds from an order to its event, at these rates of one of each.

    Until its batch is begun, until that is written, until Debezium looks, and until it has sent.
    """
    handling = worker(constants, setup)
    publishing = task(constants, setup)
    measured = constants.worker
    batch = handling.batch(of_worker)
    write = measured.write_fixed_seconds + measured.write_each_seconds * batch
    return handling.wait(of_worker) + write + publishing.wait(of_task) + publishing.work(of_task)


def log_bytes(constants: Constants, orders: float, kept: float) -> float:
    """Return what is written to the log between two checkpoints in which so many orders come.

    `kept` is how many orders the tables have before: the first write to a page of theirs after a
    checkpoint logs all of it. Keys that come in no sequence hit ever other pages.
    """
    images = 0.0
    for bytes_of_order in constants.keys.values():
        pages = bytes_of_order * kept / PAGE
        images += distinct(pages, orders)
    log = constants.log
    return orders * log.order_bytes + images * log.image_bytes


def table_bytes(constants: Constants) -> float:
    """Return how much all tables grow with one order."""
    return sum(table.rows + table.indexes for table in constants.tables.values())


def records_together(
    constants: Constants, setup: Setup, topic: str, rate: float, partitions: float
) -> float:
    """Return how many records of a partition its producer sends in one batch, at least one."""
    is_ours = topic != INPUT_TOPIC
    together = task(constants, setup).batch(rate) if is_ours else rate * LINGER_SECONDS
    return max(1.0, together / partitions)


def topic_bytes(
    constants: Constants, setup: Setup, rate: float, partitions: float
) -> Mapping[str, float]:
    """Return the bytes of one order on each topic: what comes together is compressed together."""
    found = {}
    for topic, measured in constants.topics.items():
        together = records_together(constants, setup, topic, rate, partitions)
        found[topic] = measured.together + (measured.alone - measured.together) / together
    return found
