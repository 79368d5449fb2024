"""The story of a batch: read this first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from service.batch import waves
from service.dead_letter import DeadLetter
from service.halving import halving
from service.message import Message
from service.outage import RefusedError
from service.post import Entry
from service.record import Record
from service.report import report
from service.store import Answers, Handled, Item


@dataclass(frozen=True)
class Steps:
    """The four things that a batch does to the world. Each may be repeated; none happens in part."""

    write: Callable[[Sequence[Item]], dict[str, Handled]]  # one transaction
    post: Callable[[Sequence[Entry]], Answers]  # one request, never inside a transaction
    mark: Callable[[Answers], None]  # one transaction
    commit: Callable[[Sequence[Record]], None]  # the offsets: from here on Kafka forgets the batch


def handle(records: Sequence[Record], steps: Steps) -> None:
    """Take a batch through every step; killed anywhere, it is redelivered whole and ends the same.

    Nearly always there is one wave, and each message id stands in it once. What the write brings back says
    which messages are repeats, which are conflicts, and which have yet to be audited.
    """
    for wave in waves(records):
        letters = [item for item in wave if isinstance(item, DeadLetter)]

        known = halving(wave, steps.write, lambda item, refusal: steps.write([bury(item, refusal)]))
        handled, conflicts = compare(wave, known)
        if conflicts:
            steps.write(conflicts)

        entries = [Entry(m, known[m.message_id].fulfilled) for m in handled if not known[m.message_id].audited]
        answers: Answers = {}
        if entries:
            answers = halving(entries, steps.post, lambda entry, no: {entry.message.message_id: str(no)})
            steps.mark(answers)

        report(handled, known, letters + conflicts, answers)
    steps.commit(records)


def bury(item: Item, refusal: RefusedError) -> DeadLetter:
    """The dead letter of a message that the database will never take."""
    if isinstance(item, DeadLetter):
        raise refusal  # a dead letter fits its table whatever is in it; if not, the defect is ours: stop
    return DeadLetter(item.record, "invalid", str(refusal))


def compare(wave: Sequence[Item], known: dict[str, Handled]) -> tuple[list[Message], list[DeadLetter]]:
    """The messages as they are known, and those whose id is known with another value."""
    messages = [item for item in wave if isinstance(item, Message) and item.message_id in known]
    same = [m for m in messages if m.value_sha256 == known[m.message_id].value_sha256]
    others = [m for m in messages if m.value_sha256 != known[m.message_id].value_sha256]
    reason = "message_id: already seen with another value"
    return same, [DeadLetter(message.record, "conflict", reason) for message in others]
