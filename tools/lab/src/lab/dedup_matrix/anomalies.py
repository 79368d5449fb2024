"""The rows of the dedup matrix: what goes wrong in the field, as something to do to a store."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from lab.dedup_matrix.effect import Moments
from lab.dedup_matrix.rebalance import redeliver
from lab.dedup_matrix.story import Story, crash
from service.record import Record


class Anomaly(NamedTuple):
    """One thing that goes wrong."""

    title: str
    happen: Callable[[Story], None]
    takes_time: bool = False  # most of it is waiting


def repeated(story: Story) -> None:
    """Deliver the same message three times, each in a batch of its own."""
    for _ in range(3):
        story.handle([story.record("m-1", 1)])


def repeated_in_a_batch(story: Story) -> None:
    """Deliver the same message three times in one batch, with another one between."""
    batch = [
        story.record("m-1", 1),
        story.record("m-1", 1),
        story.record("m-2", 2),
        story.record("m-1", 1),
    ]
    story.handle(batch)


def two_workers(story: Story) -> None:
    """Give two workers the same message; hold one before its transaction, then one inside it."""
    first = [story.record("m-1", 1)]
    story.handle(first, Moments(before=story.run_other(first, until_done=False)))
    story.join()
    second = [story.record("m-2", 2)]
    story.handle(second, Moments(inside=story.run_other(second, until_done=False)))


def crash_after_effect(story: Story) -> None:
    """Let a worker die with its effect committed, and nothing after that."""
    records = [story.record("m-1", 1)]
    story.handle(records, Moments(after=crash))
    story.handle(records)


def crash_before_effect(story: Story) -> None:
    """Let a worker die with its claim made: before the effect, and before its commit."""
    for number, moments in enumerate((Moments(before=crash), Moments(inside=crash)), 1):
        records = [story.record(f"m-{number}", number)]
        story.handle(records, moments)
        story.handle(records)


def slow_worker(story: Story) -> None:
    """Let another worker take the message of a slow one and finish; then the slow one goes on."""
    records = [story.record("m-1", 1)]
    story.handle(records, Moments(before=story.run_other(records, until_done=True)))


def rebalance(story: Story) -> None:
    """Let a worker miss its poll on the real broker; another gets its record, and is faster."""

    def handle(records: Sequence[Record], slow: Callable[[], None]) -> None:
        story.handle(records, Moments(before=slow))

    redeliver(story.backends.bootstrap_servers, story.record("m-1", 1), handle)


def disorder(story: Story) -> None:
    """Deliver a lower number after a higher one, of another order in the same partition."""
    story.handle([story.record("m-5", 5, "o-5")])
    story.handle([story.record("m-4", 4, "o-4")])


def older_after_newer(story: Story) -> None:
    """Deliver an older event of an order after a newer one, from another partition."""
    story.handle([story.record("m-5", 5, partition=0)])
    story.handle([story.record("m-4", 4, partition=1)])


def older_state(story: Story) -> None:
    """Do the same where each event replaces what the order was: to drop the older one is right."""
    newer = story.record("m-5", 5, partition=0)
    story.expect_newest(newer)
    story.handle([newer])
    story.handle([story.record("m-4", 4, partition=1)])


def wider_number(story: Story) -> None:
    """Count from nine to ten: as text, the second number is the lower one."""
    story.handle([story.record("m-9", 9)])
    story.handle([story.record("m-10", 10)])


def two_sources(story: Story) -> None:
    """Let two aggregates feed one order from topics of their own, each with its own numbers."""
    story.handle([published_by("payment", story.record("a-10", 10, partition=0))])
    story.handle([published_by("stock", story.record("b-1", 1, partition=1))])


def published_by(source: str, record: Record) -> Record:
    """Return the record with the name of the aggregate that has published it."""
    return record._replace(headers=[*record.headers, ("source", source.encode())])


def more_partitions(story: Story) -> None:
    """Move a key to a new partition: its message comes again, and new ones count from one."""
    story.handle([story.record("m-5", 5, "o-5", partition=0)])
    story.handle([story.record("m-5", 5, "o-5", partition=3)])
    story.handle([story.record("m-6", 1, "o-6", partition=3)])


def two_producers(story: Story) -> None:
    """Let two producers, each with its own numbers and orders, send to one partition."""
    first_batch = [
        story.record("a-10", 10, "o-a"),
        story.record("b-1", 1, "o-b"),
    ]
    second_batch = [
        story.record("a-11", 11, "o-a"),
        story.record("b-2", 2, "o-b"),
    ]
    story.handle(first_batch)
    story.handle(second_batch)


def store_lost(story: Story) -> None:
    """Lose what the store keeps, then deliver a message again."""
    records = [story.record("m-1", 1)]
    story.handle(records)
    story.lose_store()
    story.handle(records)


def retention(story: Story) -> None:
    """Deliver a message again after the store's retention."""
    records = [story.record("m-1", 1)]
    story.handle(records)
    story.outlive_retention()
    story.handle(records)


def another_value(story: Story) -> None:
    """Send a message id again with another value: one effect, and the other must be noticed."""
    story.handle([story.record("m-1", 1)])
    story.handle([story.record("m-1", 1, value_of="another")])
    story.unnoticed = 1 - story.conflicts


def two_subscribers(story: Story) -> None:
    """Give two subscribers the same message, twice: each has its own effect."""
    records = [story.record("m-1", 1)]
    for _ in range(2):
        story.handle(records)
        story.handle(records, subscriber="-other")


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
