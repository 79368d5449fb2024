"""The rows of the truth table: what goes wrong in the field, as something to do to a store."""

from collections.abc import Callable
from typing import NamedTuple

from lab.dedup_matrix.effect import Moments
from lab.dedup_matrix.rebalance import redeliver
from lab.dedup_matrix.trial import Trial, crash


class Anomaly(NamedTuple):
    """One thing that goes wrong."""

    title: str
    happen: Callable[[Trial], None]
    takes_time: bool = False  # most of it is waiting


def repeated(trial: Trial) -> None:
    """The same message three times, each in a batch of its own."""
    for _ in range(3):
        trial.handle([trial.record("m-1", 1)])


def repeated_in_a_batch(trial: Trial) -> None:
    """The same message three times in one batch, another between."""
    trial.handle(
        [
            trial.record("m-1", 1),
            trial.record("m-1", 1),
            trial.record("m-2", 2),
            trial.record("m-1", 1),
        ]
    )


def two_workers(trial: Trial) -> None:
    """Two workers with the same message at once: one is held before its transaction, and once more inside it."""
    first, second = [trial.record("m-1", 1)], [trial.record("m-2", 2)]
    trial.handle(first, Moments(before=trial.beside(first, until_done=False)))
    trial.join()
    trial.handle(second, Moments(inside=trial.beside(second, until_done=False)))


def crash_after_effect(trial: Trial) -> None:
    """A worker dies with its effect committed, and nothing after that."""
    records = [trial.record("m-1", 1)]
    trial.handle(records, Moments(after=crash))
    trial.handle(records)


def crash_before_effect(trial: Trial) -> None:
    """A worker dies with its claim made, as far as it is made by then: no effect, and once more not committed."""
    for n, moments in enumerate((Moments(before=crash), Moments(inside=crash)), 1):
        records = [trial.record(f"m-{n}", n)]
        trial.handle(records, moments)
        trial.handle(records)


def slow_worker(trial: Trial) -> None:
    """A worker is so slow that another takes its message and finishes; then the slow one goes on."""
    records = [trial.record("m-1", 1)]
    trial.handle(records, Moments(before=trial.beside(records, until_done=True)))


def rebalance(trial: Trial) -> None:
    """On the real broker: a worker misses its poll over its work, and its record goes to another, who is faster."""
    redeliver(
        trial.place.bootstrap_servers,
        trial.record("m-1", 1),
        lambda records, slow: trial.handle(records, Moments(before=slow)),
    )


def disorder(trial: Trial) -> None:
    """A lower number comes after a higher one, of another order in the same partition."""
    trial.handle([trial.record("m-5", 5, "o-5")])
    trial.handle([trial.record("m-4", 4, "o-4")])


def older_after_newer(trial: Trial) -> None:
    """An older event of an order comes after a newer one, from another partition."""
    trial.handle([trial.record("m-5", 5, partition=0)])
    trial.handle([trial.record("m-4", 4, partition=1)])


def more_partitions(trial: Trial) -> None:
    """A key moves to a new partition: what it had sent is sent there again, and what is new counts from one."""
    trial.handle([trial.record("m-5", 5, "o-5", partition=0)])
    trial.handle([trial.record("m-5", 5, "o-5", partition=3)])
    trial.handle([trial.record("m-6", 1, "o-6", partition=3)])


def two_producers(trial: Trial) -> None:
    """Two producers, each with its own numbers and orders, send to one partition."""
    trial.handle([trial.record("a-10", 10, "o-a"), trial.record("b-1", 1, "o-b")])
    trial.handle([trial.record("a-11", 11, "o-a"), trial.record("b-2", 2, "o-b")])


def store_lost(trial: Trial) -> None:
    """What the store keeps is lost, and a message is delivered again."""
    records = [trial.record("m-1", 1)]
    trial.handle(records)
    trial.store.lose(trial.place, trial.name)
    trial.handle(records)


def retention(trial: Trial) -> None:
    """A message is delivered again after the store's retention."""
    records = [trial.record("m-1", 1)]
    trial.handle(records)
    trial.store.forget(trial.place, trial.name)
    trial.handle(records)


def another_value(trial: Trial) -> None:
    """The same message id comes again with another value: one effect, and somebody is told of the other."""
    trial.handle([trial.record("m-1", 1)])
    trial.handle([trial.record("m-1", 1, value_of="another")])
    trial.unseen = 1 - trial.conflicts


def two_subscribers(trial: Trial) -> None:
    """Two subscribers get the same message, twice: each has its own effect."""
    records = [trial.record("m-1", 1)]
    for _ in range(2):
        trial.handle(records)
        trial.handle(records, subscriber="-other")


ANOMALIES: dict[str, Anomaly] = {
    "repeated": Anomaly("the same message three times in a row", repeated),
    "repeated_in_a_batch": Anomaly(
        "the same message three times in one batch", repeated_in_a_batch
    ),
    "two_workers": Anomaly("two workers at the same moment", two_workers),
    "rebalance": Anomaly("redelivery after a forced rebalance", rebalance, takes_time=True),
    "crash_after_effect": Anomaly(
        "crash after the effect, before the dedup write", crash_after_effect
    ),
    "crash_before_effect": Anomaly(
        "crash after the dedup write, before the effect", crash_before_effect
    ),
    "slow_worker": Anomaly("a lease expires while its worker works on", slow_worker),
    "disorder": Anomaly("a lower number after a higher one, in one partition", disorder),
    "older_after_newer": Anomaly("an older event of an order after a newer one", older_after_newer),
    "more_partitions": Anomaly("partitions are added", more_partitions),
    "two_producers": Anomaly("two producers in one partition", two_producers),
    "store_lost": Anomaly("the store is lost", store_lost),
    "retention": Anomaly("delivered again after the retention", retention),
    "another_value": Anomaly("the same id with another value", another_value),
    "two_subscribers": Anomaly("the same message for two subscribers", two_subscribers),
}
