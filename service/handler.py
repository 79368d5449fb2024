"""The story of a batch: read this first."""

import time
from collections import defaultdict
from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import structlog

from contract.audit import OUTCOMES
from contract.events import ACCEPTED
from service import metrics
from service.dedup import Handled
from service.outage import OutageError, RefusedError
from service.post import Answers, Entry
from service.record import DeadLetter, Item, Message, Record, read

log = structlog.get_logger()
Part = TypeVar("Part")
Known = TypeVar("Known")

COUNTED = (*OUTCOMES, "duplicate", "dropped")
CONFLICT = "message_id: already seen with another value"


def nothing_to_settle(_batch: Sequence[Item]) -> None:
    """Do nothing: this dedup store has done everything in the transaction."""


def blame_the_message(item: Item, refusal: RefusedError) -> bool:
    """Bury whatever is refused: for callers who know that their database is sound."""
    if isinstance(item, DeadLetter):
        raise refusal  # its table takes any dead letter; if it does not, the defect is ours
    return True


def no_poll() -> None:
    """Do nothing: there is no group that waits."""


def nothing_to_repeat() -> None:
    """Do nothing: no entry was ever put aside."""


def publish_nothing(_pulses: Sequence[Record]) -> None:
    """Do nothing: nobody measures how long the way takes."""


def trace_nothing(_entries: Sequence[Entry], _letters: Sequence[DeadLetter], _begun: int) -> None:
    """Do nothing: no collector asks for spans."""


def wait_for_nothing(_stage: str, _attempt: int, outage: OutageError) -> None:
    """Raise the outage: there is no consumer that could keep polling."""
    raise outage


class Steps(NamedTuple):
    """What a batch does to the world. Each step may be repeated; none happens in part."""

    # One transaction: the dedup store's claim, and with it all that a fresh message writes.
    write: Callable[[Sequence[Item]], dict[str, Handled]]
    # Requests, never inside a transaction.
    post: Callable[[Sequence[Entry]], Answers]
    # One transaction; it returns the message ids that need no other answer.
    mark: Callable[[Answers], Container[str]]
    # The offsets: from here on Kafka forgets the batch.
    commit: Callable[[Sequence[Record]], None]
    # For a dedup store that is not in the transaction.
    settle: Callable[[Sequence[Item]], None] = nothing_to_settle
    # Changes nothing.
    read: Callable[[Record], Item] = read
    # Whether to bury what the write refused; if not, it has waited until the item may be repeated.
    is_to_blame: Callable[[Item, RefusedError], bool] = blame_the_message
    # Shows the group that we are alive, where a batch takes more than each of the steps once.
    poll: Callable[[], None] = no_poll
    # Polls until an outage may be over.
    wait: Callable[[str, int, OutageError], None] = wait_for_nothing
    # Writes the events of pulses (service/pulse.py).
    publish: Callable[[Sequence[Record]], None] = publish_nothing
    # Tells a collector what became of messages and dead letters since then; never waits.
    trace: Callable[[Sequence[Entry], Sequence[DeadLetter], int], None] = trace_nothing
    # Between two batches: sends again what the audit receiver has not taken yet.
    repeat: Callable[[], None] = nothing_to_repeat


def handle(records: Sequence[Record], steps: Steps) -> None:
    """Take a batch through every step; killed anywhere, it is redelivered whole and ends the same.

    Nearly always the batch is one part, because each message id occurs in it once. What the write
    returns says which messages are repeats, which are conflicts, and which are not yet audited.
    """
    begun = time.time_ns()
    parts = split_conflicts(records, steps.read)
    while parts:
        part, *others = parts
        letters = [item for item in part if isinstance(item, DeadLetter)]

        known = write_or_bury(part, letters, steps)
        repeats, parts = take_known(others, known)
        handled, conflicts = compare([*part, *repeats], known)
        if conflicts:
            write_or_bury(conflicts, letters, steps)

        entries = list_unaudited(handled, known)
        audit(entries, steps)
        steps.settle(part)
        report([*part, *repeats], known, letters + conflicts)
        steps.trace(entries, letters + conflicts, begun)
        if parts:
            steps.poll()
    steps.commit(records)


def split_conflicts(
    records: Sequence[Record], read: Callable[[Record], Item] = read
) -> list[list[Item]]:
    """Split the batch into parts that hold each message id once; equal repeats are folded.

    The same id with another value goes into the next part, where the database already knows the
    id and tells the conflict from the message.
    """
    parts: dict[int, list[Item]] = defaultdict(list)  # the first part is made first, and so on
    values: dict[str, list[str]] = defaultdict(list)  # of each message id, as they arrived
    for record in records:
        item = read(record)
        if isinstance(item, DeadLetter):
            parts[0].append(item)
            continue
        seen = values[item.message_id]
        if item.value_sha256 in seen:
            continue
        part = parts[len(seen)]
        part.append(item)
        seen.append(item.value_sha256)
    kept = [len(part) for part in parts.values()]
    folded = len(records) - sum(kept)
    metrics.BATCH_RECORDS.observe(len(records))
    metrics.MESSAGES.labels("duplicate").inc(folded)
    return list(parts.values())


def take_known(
    parts: Sequence[list[Item]], known: dict[str, Handled]
) -> tuple[list[Item], list[list[Item]]]:
    """Return the items whose ids are known by now, and the parts that are left without them.

    Only another value of a message that was refused, or that its dedup store dropped, is left.
    """
    taken: list[Item] = []
    left: list[list[Item]] = []
    for part in parts:
        unknown: list[Item] = []
        for item in part:
            is_known = isinstance(item, Message) and item.message_id in known
            if is_known:
                taken.append(item)
            else:
                unknown.append(item)
        if unknown:
            left.append(unknown)
    return taken, left


def write_or_bury(
    items: Sequence[Item], letters: list[DeadLetter], steps: Steps
) -> dict[str, Handled]:
    """Write the items, those that are to blame for a refusal as dead letters; add them to letters.

    One refused item among n costs up to 1 + 2 log2(n) writes before it is alone.
    """
    settle = partial(settle_refusal, letters, steps)
    return bisect_refusals(items, steps.write, settle, steps.poll)


def settle_refusal(
    letters: list[DeadLetter], steps: Steps, item: Item, refusal: RefusedError
) -> dict[str, Handled]:
    """Repeat a refused item until it passes, or bury it once it is itself to blame."""
    while not steps.is_to_blame(item, refusal):
        try:
            return steps.write([item])
        except RefusedError as again:
            refusal = again
    letter = DeadLetter(item.record, "invalid", str(refusal))
    letters.append(letter)
    steps.poll()
    return write_or_bury([letter], letters, steps)


def bisect_refusals(
    parts: Sequence[Part],
    step: Callable[[Sequence[Part]], dict[str, Known]],
    handle_refused: Callable[[Part, RefusedError], dict[str, Known]],
    poll: Callable[[], None],
) -> dict[str, Known]:
    """Do the step on all parts; if it is refused, on each half in turn, down to the refused one."""
    try:
        return step(parts)
    except RefusedError as refusal:
        if len(parts) == 1:
            return handle_refused(parts[0], refusal)
    middle = len(parts) // 2
    known: dict[str, Known] = {}
    for half in (parts[:middle], parts[middle:]):
        poll()
        known |= bisect_refusals(half, step, handle_refused, poll)
    return known


def audit(entries: Sequence[Entry], steps: Steps) -> None:
    """Post the entries and mark what is answered, until none of them has to wait any more."""
    attempt = 0
    while entries:
        answers = steps.post(entries)
        settled = steps.mark(answers)
        waiting = [entry for entry in entries if entry.message.message_id not in settled]
        if waiting:
            reason = OutageError(f"audit receiver: {len(waiting)} entries have to wait")
            steps.wait("audit", attempt, reason)
        has_advanced = len(waiting) < len(entries)
        attempt = 0 if has_advanced else attempt + 1
        entries = waiting


def compare(
    part: Sequence[Item], known: dict[str, Handled]
) -> tuple[list[Message], list[DeadLetter]]:
    """Return the messages as they are known, and as conflicts those known with another value."""
    handled: list[Message] = []
    conflicts: list[DeadLetter] = []
    for item in part:
        if isinstance(item, DeadLetter) or item.message_id not in known:
            continue
        found = known[item.message_id]
        if found.value_sha256 in (None, item.value_sha256):
            handled.append(item)
        else:
            conflict = DeadLetter(item.record, "conflict", CONFLICT)
            conflicts.append(conflict)
    return handled, conflicts


def list_unaudited(handled: Sequence[Message], known: dict[str, Handled]) -> list[Entry]:
    """Return an entry for each message that the audit receiver has not yet answered for."""
    entries = []
    for message in handled:
        found = known[message.message_id]
        if found.audited or found.outcome is None:
            continue
        entry = Entry(message, found.outcome)
        entries.append(entry)
    return entries


def report(
    part: Sequence[Item],
    known: dict[str, Handled],
    letters: list[DeadLetter],
) -> None:
    """Count and log a part, once everything in it is safe."""
    counts = dict.fromkeys(COUNTED, 0)  # in sums, because each counter has a lock
    buried = [letter.record for letter in letters]
    for message in part:
        if isinstance(message, DeadLetter):
            continue
        if buried and message.record in buried:
            continue
        handled = known.get(message.message_id)
        outcome = name_outcome(handled)
        counts[outcome] += 1
        log_outcome(message, outcome)
    for letter in letters:
        report_letter(letter)
    for outcome, count in counts.items():
        metrics.MESSAGES.labels(outcome).inc(count)


def log_outcome(message: Message, outcome: str) -> None:
    """Log what became of a message, unless that is what becomes of nearly all."""
    if outcome in (ACCEPTED, "duplicate"):
        return
    order_id = message.order["order_id"]
    place = message.record.place
    log.info(outcome, message_id=message.message_id, order_id=order_id, **place)


def report_letter(letter: DeadLetter) -> None:
    """Count and log a dead letter."""
    place = letter.record.place
    metrics.DEAD_LETTERS.labels(letter.kind).inc()
    log.warning("dead_letter", kind=letter.kind, reason=letter.reason, **place)


def name_outcome(known: Handled | None) -> str:
    """Return what a message that is no dead letter is counted as."""
    if known is None:
        return "dropped"  # it came too late for a dedup store that expects a sequence
    if known.first and known.outcome:
        return known.outcome
    return "duplicate"
