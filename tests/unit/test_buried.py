"""A record that was buried and comes again, with a database that says what a test wants."""

from service.buried import Buried
from service.record import DeadLetter, Item, Message, Record, read
from service.refusals import Cause
from tests.builders import record

CAUSE = Cause("database", "23514", "no_13")


class FakeConsumer:
    """A consumer whose records come again when a test says so."""

    restarts = 0
    polls = 0

    def idle(self, _seconds: float) -> None:
        """Count the polls."""
        self.polls += 1


class Desk:
    """A reader, what was buried, and what the database was asked."""

    def __init__(self) -> None:
        self.consumer = FakeConsumer()
        self.given_up: dict[int, Cause] = {}
        self.asked: list[Record] = []
        self.buried = Buried(read, self.find, self.consumer)

    def find(self, first: Record) -> dict[int, Cause]:
        """Answer as the database does."""
        self.asked.append(first)
        return self.given_up

    def read(self, found: Record) -> Item:
        """Read a record."""
        return self.buried.read_again(found)


def test_a_buried_record_stays_a_dead_letter() -> None:
    """Redelivered, it is the dead letter that it was, with the same reason; the next is not."""
    desk, first, second = Desk(), record("m-1"), record("m-2")
    desk.given_up = {first.offset: CAUSE, first.offset + 100: CAUSE}
    letter = DeadLetter(first, "invalid", "refused by the database: 23514 no_13")
    assert desk.read(first) == letter
    assert isinstance(desk.read(second), Message)


def test_the_database_is_asked_once_for_each_partition() -> None:
    """Not with each batch; and the group is polled after each question."""
    desk = Desk()
    records = [record(f"m-{n}", partition=n % 3) for n in range(12)]
    for each in records:
        desk.read(each)
    assert desk.asked == records[:3]
    assert desk.consumer.polls == 3


def test_after_a_restart_it_is_asked_again() -> None:
    """A batch was abandoned, or another worker had the partition: more may have been buried."""
    desk, of = Desk(), record()
    assert isinstance(desk.read(of), Message)
    desk.given_up = {of.offset: CAUSE}
    assert isinstance(desk.read(of), Message)
    desk.consumer.restarts += 1
    assert isinstance(desk.read(of), DeadLetter)
