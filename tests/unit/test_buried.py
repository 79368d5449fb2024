"""A record that was buried and comes again, with a database that says what a test wants."""

from service.buried import Buried
from service.record import DeadLetter, Item, Message, Record, read
from service.refusals import Cause
from service.tries import REASON
from tests.builders import record

CAUSE = Cause("database", "23514", "no_13")


class FakeConsumer:
    """A consumer whose records come again when a test says so."""

    restarts = 0
    polls = 0

    fatal: Record | None = None

    def counts_tries(self) -> bool:
        """Count, where a record is fatal."""
        return self.fatal is not None

    def is_fatal(self, record: Record) -> bool:
        """Return whether it is this one."""
        return record is self.fatal

    def idle(self, _seconds: float) -> None:
        """Count the polls."""
        self.polls += 1


class Desk:
    """A reader, what was buried, and what the database was asked."""

    def __init__(self) -> None:
        self.consumer = FakeConsumer()
        self.given_up: dict[int, Cause] = {}
        self.asked: list[Record] = []
        self.happened: list[str] = []
        self.buried = Buried(self.note_read, self.find, self.consumer, self.begin_try)

    def begin_try(self) -> None:
        """Note when a try begins."""
        self.happened.append("begun")

    def note_read(self, found: Record) -> Item:
        """Note when a record is read."""
        self.happened.append("read")
        return read(found)

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


def test_what_has_ended_the_process_is_buried_unread() -> None:
    """The try is written first; the fatal record is not read, the one beside it is."""
    desk, fatal, other = Desk(), record("m-1"), record("m-2")
    desk.consumer.fatal = fatal
    assert desk.read(fatal) == DeadLetter(fatal, "invalid", REASON)
    assert desk.happened == ["begun"]
    assert isinstance(desk.read(other), Message)
    assert desk.happened == ["begun", "begun", "read"]
