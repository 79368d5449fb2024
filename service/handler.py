"""The story of a batch: read this first."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import structlog

from service import metrics
from service.dedup import Handled, Write
from service.outage import RefusedError
from service.post import Entry
from service.record import DeadLetter, Item, Message, Record, read
from service.write import Answers

log = structlog.get_logger()
Part = TypeVar("Part")
Known = TypeVar("Known")


class Steps(NamedTuple):
    """What a batch does to the world. Each may be repeated; none happens in part."""

    write: Callable[
        [Sequence[Item]], dict[str, Handled]
    ]  # one transaction: the dedup store's claim
    post: Callable[[Sequence[Entry]], Answers]  # one request, never inside a transaction
    mark: Callable[[Answers], None]  # one transaction
    commit: Callable[[Sequence[Record]], None]  # the offsets: from here on Kafka forgets the batch
    settle: Callable[[Sequence[Item]], None] = lambda _: (
        None
    )  # for a dedup store that is not in the transaction
    read: Callable[[Record], Item] = read  # changes nothing


def handle(records: Sequence[Record], steps: Steps) -> None:
    """Take a batch through every step; killed anywhere, it is redelivered whole and ends the same.

    Nearly always there is one wave, and each message id stands in it once. What the write brings back says
    which messages are repeats, which are conflicts, and which have yet to be audited.
    """
    for wave in split_conflicts(records, steps.read):
        letters = [item for item in wave if isinstance(item, DeadLetter)]

        known = bisect_refusals(wave, steps.write, partial(bury, letters, steps.write))
        handled, conflicts = compare(wave, known)
        if conflicts:
            steps.write(conflicts)

        entries = [
            Entry(m, known[m.message_id].fulfilled)
            for m in handled
            if not known[m.message_id].audited
        ]
        answers: Answers = {}
        if entries:
            answers = bisect_refusals(
                entries, steps.post, lambda entry, no: {entry.message.message_id: str(no)}
            )
            steps.mark(answers)

        steps.settle(wave)
        report(wave, known, letters + conflicts, answers)
    steps.commit(records)


def split_conflicts(
    records: Sequence[Record], read: Callable[[Record], Item] = read
) -> list[list[Item]]:
    """The batch in waves that hold each message id once; repeats with the same value are folded.

    The same id with another value goes into the next wave, where the database, which then knows the id,
    tells the conflict from the message.
    """
    found: dict[int, list[Item]] = defaultdict(list)  # the first wave is made first, and so on
    values: dict[str, list[str]] = defaultdict(
        list
    )  # the different values of each message id, as they arrived
    for item in map(read, records):
        if isinstance(item, DeadLetter):
            found[0].append(item)
        elif item.value_sha256 not in (seen := values[item.message_id]):
            found[len(seen)].append(item)
            seen.append(item.value_sha256)
    metrics.BATCH_RECORDS.observe(len(records))
    metrics.MESSAGES.labels("duplicate").inc(len(records) - sum(map(len, found.values())))
    return list(found.values())


def bisect_refusals(
    parts: Sequence[Part],
    step: Callable[[Sequence[Part]], dict[str, Known]],
    alone: Callable[[Part, RefusedError], dict[str, Known]],
) -> dict[str, Known]:
    """The step on all parts; if their content is refused, on each half in turn, until the bad part stands alone."""
    try:
        return step(parts)
    except RefusedError as refusal:
        if len(parts) == 1:
            return alone(parts[0], refusal)
    middle = len(parts) // 2
    return bisect_refusals(parts[:middle], step, alone) | bisect_refusals(
        parts[middle:], step, alone
    )


def bury(
    letters: list[DeadLetter], write: Write, item: Item, refusal: RefusedError
) -> dict[str, Handled]:
    """Write a message that the database will never take as a dead letter, one more of its wave."""
    if isinstance(item, DeadLetter):
        raise refusal  # a dead letter fits its table whatever is in it; if not, the defect is ours: stop
    letters.append(DeadLetter(item.record, "invalid", str(refusal)))
    return write(letters[-1:])


def compare(
    wave: Sequence[Item], known: dict[str, Handled]
) -> tuple[list[Message], list[DeadLetter]]:
    """The messages as they are known, and those whose id is known with another value."""
    messages = [item for item in wave if isinstance(item, Message) and item.message_id in known]
    same = [m for m in messages if m.value_sha256 == known[m.message_id].value_sha256]
    others = [m for m in messages if m.value_sha256 != known[m.message_id].value_sha256]
    return same, [
        DeadLetter(m.record, "conflict", "message_id: already seen with another value")
        for m in others
    ]


def report(
    wave: Sequence[Item], known: dict[str, Handled], letters: list[DeadLetter], answers: Answers
) -> None:
    """Once for each wave, after everything in it is safe; added up first, because a counter's lock costs."""
    messages = [item for item in wave if isinstance(item, Message)]
    first = [m for m in messages if m.message_id in known and known[m.message_id].first]
    rejected = [m for m in first if not known[m.message_id].fulfilled]
    # Neither fresh nor known: the dedup store wants an order, and it came too late.
    dropped = [
        m
        for m in messages
        if m.message_id not in known and m.record not in [d.record for d in letters]
    ]
    refused = {message_id: error for message_id, error in answers.items() if error}
    counts = {
        "fulfilled": len(first) - len(rejected),
        "rejected": len(rejected),
        "dropped": len(dropped),
    }
    counts |= {"duplicate": len(wave) - len(first) - len(dropped) - len(letters)}
    counts |= {"audited": len(answers) - len(refused), "audit_refused": len(refused)}
    for outcome, count in counts.items():
        metrics.MESSAGES.labels(outcome).inc(count)
    for m in rejected + dropped:
        what = "rejected" if m.message_id in known else "dropped"
        log.info(what, message_id=m.message_id, order_id=m.order["order_id"], **m.record.place)
    for letter in letters:
        metrics.DEAD_LETTERS.labels(letter.kind).inc()
        log.warning("dead_letter", kind=letter.kind, reason=letter.reason, **letter.record.place)
    for message_id, error in refused.items():
        log.error("audit_refused", message_id=message_id, reason=error)
