"""The rows of the dedup matrix: what goes wrong in the field, as something to do to a store."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from lab.dedup_matrix.effect import Moments
from lab.dedup_matrix.rebalance import redeliver
from lab.dedup_matrix.trial import Trial, crash
from service.record import Record


class Anomaly(NamedTuple):
    """One thing that goes wrong."""

    title: str
    happen: Callable[[Trial], None]
    takes_time: bool = False  # most of it is waiting


def repeated(trial: Trial) -> None:
    """Deliver the same message three times, each in a batch of its own."""
    for _ in range(3):
        trial.handle([trial.record("m-1", 1)])


def repeated_in_a_batch(trial: Trial) -> None:
    """Deliver the same message three times in one batch, with another one between."""
    batch = [
        trial.record("m-1", 1),
        trial.record("m-1", 1),
        trial.record("m-2", 2),
        trial.record("m-1", 1),
    ]
    trial.handle(batch)


def two_workers(trial: Trial) -> None:
    """Give two workers the same message; hold one before its transaction, then one inside it."""
    first = [trial.record("m-1", 1)]
    trial.handle(first, Moments(before=trial.run_other(first, until_done=False)))
    trial.join()
    second = [trial.record("m-2", 2)]
    trial.handle(second, Moments(inside=trial.run_other(second, until_done=False)))


def crash_after_effect(trial: Trial) -> None:
    """Let a worker die with its effect committed, and nothing after that."""
    records = [trial.record("m-1", 1)]
    trial.handle(records, Moments(after=crash))
    trial.handle(records)


def crash_before_effect(trial: Trial) -> None:
    """Let a worker die with its claim made: before the effect, and before its commit."""
    for number, moments in enumerate((Moments(before=crash), Moments(inside=crash)), 1):
        records = [trial.record(f"m-{number}", number)]
        trial.handle(records, moments)
        trial.handle(records)


def slow_worker(trial: Trial) -> None:
    """Let another worker take the message of a slow one and finish; then the slow one goes on."""
    records = [trial.record("m-1", 1)]
    trial.handle(records, Moments(before=trial.run_other(records, until_done=True)))


def rebalance(trial: Trial) -> None:
    """Let a worker miss its poll on the real broker; another gets its record, and is faster."""

    def handle(records: Sequence[Record], slow: Callable[[], None]) -> None:
        trial.handle(records, Moments(before=slow))

    redeliver(trial.backends.bootstrap_servers, trial.record("m-1", 1), handle)


def disorder(trial: Trial) -> None:
    """Deliver a lower number after a higher one, of another order in the same partition."""
    trial.handle([trial.record("m-5", 5, "o-5")])
    trial.handle([trial.record("m-4", 4, "o-4")])


def older_after_newer(trial: Trial) -> None:
    """Deliver an older event of an order after a newer one, from another partition."""
    trial.handle([trial.record("m-5", 5, partition=0)])
    trial.handle([trial.record("m-4", 4, partition=1)])


def older_state(trial: Trial) -> None:
    """Do the same where each event replaces what the order was: to drop the older one is right."""
    newer = trial.record("m-5", 5, partition=0)
    trial.expect_newest(newer)
    trial.handle([newer])
    trial.handle([trial.record("m-4", 4, partition=1)])


def wider_number(trial: Trial) -> None:
    """Count from nine to ten: as text, the second number is the lower one."""
    trial.handle([trial.record("m-9", 9)])
    trial.handle([trial.record("m-10", 10)])


def two_sources(trial: Trial) -> None:
    """Let two aggregates feed one order from topics of their own, each with its own numbers."""
    trial.handle([published_by("payment", trial.record("a-10", 10, partition=0))])
    trial.handle([published_by("stock", trial.record("b-1", 1, partition=1))])


def published_by(source: str, record: Record) -> Record:
    """Return the record with the name of the aggregate that has published it."""
    return record._replace(headers=[*record.headers, ("source", source.encode())])


def more_partitions(trial: Trial) -> None:
    """Move a key to a new partition: its message comes again, and new ones count from one."""
    trial.handle([trial.record("m-5", 5, "o-5", partition=0)])
    trial.handle([trial.record("m-5", 5, "o-5", partition=3)])
    trial.handle([trial.record("m-6", 1, "o-6", partition=3)])


def two_producers(trial: Trial) -> None:
    """Let two producers, each with its own numbers and orders, send to one partition."""
    first_batch = [
        trial.record("a-10", 10, "o-a"),
        trial.record("b-1", 1, "o-b"),
    ]
    second_batch = [
        trial.record("a-11", 11, "o-a"),
        trial.record("b-2", 2, "o-b"),
    ]
    trial.handle(first_batch)
    trial.handle(second_batch)


def store_lost(trial: Trial) -> None:
    """Lose what the store keeps, then deliver a message again."""
    records = [trial.record("m-1", 1)]
    trial.handle(records)
    trial.store.lose(trial.backends, trial.name)
    trial.handle(records)


def retention(trial: Trial) -> None:
    """Deliver a message again after the store's retention."""
    records = [trial.record("m-1", 1)]
    trial.handle(records)
    trial.store.forget(trial.backends, trial.name)
    trial.handle(records)


def another_value(trial: Trial) -> None:
    """Send a message id again with another value: one effect, and the other must be noticed."""
    trial.handle([trial.record("m-1", 1)])
    trial.handle([trial.record("m-1", 1, value_of="another")])
    trial.unnoticed = 1 - trial.conflicts


def two_subscribers(trial: Trial) -> None:
    """Give two subscribers the same message, twice: each has its own effect."""
    records = [trial.record("m-1", 1)]
    for _ in range(2):
        trial.handle(records)
        trial.handle(records, subscriber="-other")


ANOMALIES = {
    "repeated": Anomaly(
        title="the same message three times in a row",
        happen=repeated,
    ),
    "repeated_in_a_batch": Anomaly(
        title="the same message three times in one batch",
        happen=repeated_in_a_batch,
    ),
    "two_workers": Anomaly(
        title="two workers at the same moment",
        happen=two_workers,
    ),
    "rebalance": Anomaly(
        title="redelivery after a forced rebalance",
        happen=rebalance,
        takes_time=True,
    ),
    "crash_after_effect": Anomaly(
        title="crash after the effect, before the dedup write",
        happen=crash_after_effect,
    ),
    "crash_before_effect": Anomaly(
        title="crash after the dedup write, before the effect",
        happen=crash_before_effect,
    ),
    "slow_worker": Anomaly(
        title="a lease expires while its worker works on",
        happen=slow_worker,
    ),
    "disorder": Anomaly(
        title="a lower number after a higher one, in one partition",
        happen=disorder,
    ),
    "older_after_newer": Anomaly(
        title="an older event of an order after a newer one, and each adds something",
        happen=older_after_newer,
    ),
    "older_state": Anomaly(
        title="an older event of an order after a newer one, and each replaces the last",
        happen=older_state,
    ),
    "wider_number": Anomaly(
        title="numbers become a digit longer",
        happen=wider_number,
    ),
    "two_sources": Anomaly(
        title="two aggregates feed one order, each with numbers of its own",
        happen=two_sources,
    ),
    "more_partitions": Anomaly(
        title="partitions are added",
        happen=more_partitions,
    ),
    "two_producers": Anomaly(
        title="two producers in one partition",
        happen=two_producers,
    ),
    "store_lost": Anomaly(
        title="the store is lost",
        happen=store_lost,
    ),
    "retention": Anomaly(
        title="delivered again after the retention",
        happen=retention,
    ),
    "another_value": Anomaly(
        title="the same id with another value",
        happen=another_value,
    ),
    "two_subscribers": Anomaly(
        title="the same message for two subscribers",
        happen=two_subscribers,
    ),
}
