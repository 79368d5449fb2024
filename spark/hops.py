"""The hops of a message's path: for each, which rows went in and which came out, by one id.

Rows are described in Spark SQL over the columns of a frame. All hops become rows of one frame,
which one aggregation judges (outcome.sql).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from enum import StrEnum
from functools import partial, reduce
from typing import NamedTuple

from pyspark.sql import DataFrame

from contract.events import ACCEPTED, EVENTS, Event
from contract.names import AUDIT_TOPIC, DEAD_LETTER_TOPIC

NONE = "null"  # SQL


class Side(StrEnum):
    """What a row says about its id."""

    IN = "in"  # it went in, so it must come out
    OUT = "out"  # it came out
    REDELIVERED = "redelivered"  # it came out as the effect of an earlier record
    REFERENCE = "reference"  # neither, but its fingerprint must be that of the others


class Rows(NamedTuple):
    """The rows of one frame that are one side of a hop."""

    side: Side
    frame: str
    id: str
    effect: str = NONE  # what came out; an id with two different effects is a duplicate
    fingerprint: str = NONE  # an id whose rows have two different fingerprints is different
    problem: str = NONE  # a sentence if the row is wrong by itself
    source: str = "source"  # the record or message that decides whether the id is late
    written_at: str = NONE  # where ids may wait: since when
    when: str = "true"  # which rows of the frame take part


goes_in = partial(Rows, Side.IN)
comes_out = partial(Rows, Side.OUT)
is_redelivered = partial(Rows, Side.REDELIVERED)
must_agree = partial(Rows, Side.REFERENCE)


class Hop(NamedTuple):
    """A step of the path: what goes in on one side must come out on the other."""

    name: str
    sides: tuple[Rows, ...]
    name_of_row: str = ""  # SQL, if the hop has a name for each topic

    def sql_of_name(self) -> str:
        """Return Spark SQL for the name of a row's hop."""
        return self.name_of_row or f"'{self.name}'"

    def has_name_in(self, names: Set[str]) -> bool:
        """Return whether a row of the hop may have one of these names."""
        if not self.name_of_row:
            return self.name in names
        return any(name.startswith(OUTBOX_TO) for name in names)

    def weight(self, rows: Rows) -> int:
        """Return how rows count in a digest: where all is well, each fingerprint is there twice.

        A reference stands for whichever of the two sides has no fingerprint of its own.
        """
        if rows.side is Side.REFERENCE:
            of_in = [one.fingerprint for one in self.sides if one.side is Side.IN]
            has_fingerprint = any(fingerprint != NONE for fingerprint in of_in)
            return -1 if has_fingerprint else 1
        return 1 if rows.side is Side.IN else -1


LEDGER_TO_OUTCOME = "ledger → outcome"
TOPICS_TO_LANDED = "topics → landed"
FORGOTTEN_TO_LANDED = "forgotten → landed"
RETIRED_TO_LANDED = "retired → landed"
RETIRED_ENTRY_TO_LANDED = "retired audit entry → landed"
RETIRED_LETTER_TO_LANDED = "retired dead letter → landed"
RETIRED_TO_DECISION = "retired → fulfillment or rejection"
TRACKING_TO_DECISION = "tracking → fulfillment or rejection"
TRACKING_TO_OUTBOX = "tracking → outbox"
DEAD_LETTER_TO_OUTBOX = "dead letter → outbox"
TRACKING_TO_AUDIT_ENTRY = "tracking → audit entry"
TRACKING_TO_AUDIT_MARK = "tracking → audit mark"
AUDIT_ENTRY_TO_OUTBOX = "audit entry → outbox"
OUTBOX_TO = "outbox → "  # and the topic

# What was deleted has to be in the lake: judged only where everything is.
NOTED = (
    FORGOTTEN_TO_LANDED,
    RETIRED_TO_LANDED,
    RETIRED_ENTRY_TO_LANDED,
    RETIRED_LETTER_TO_LANDED,
    RETIRED_TO_DECISION,
)

VALUE = "coalesce(sha256, 'no value')"
KEY_AND_VALUE = "concat_ws(' ', key, sha256)"
KAFKA_TOPIC = "substring_index(topic, '@', 1)"  # of one that was created again, too
# What is late with an event of the audit: its message, or only the entry, which was put aside. It
# may be sent again, and its event published, while the databases are read.
PUBLISHED_SOURCE = f"""
    if({KAFKA_TOPIC} = '{AUDIT_TOPIC}' and message_id is not null,
        'unaudited ' || message_id, source)
"""
IS_DEAD_LETTER = f"topic = '{DEAD_LETTER_TOPIC}'"


def ledger_to_input(input_topic: str) -> str:
    """Return the name of the hop from the producer's ledger to the input topic."""
    return f"ledger → {input_topic}"


def input_to_tracking(input_topic: str) -> str:
    """Return the name of the hop from the input topic into the database."""
    return f"{input_topic} → tracking or dead letter"


def make_hops(input_topic: str, events: Sequence[Event] = EVENTS) -> list[Hop]:
    """Return the hops of the core along the path, from the producer's ledger to the topics."""
    following = [event for event in events if event.follows is not None]
    further = [follow(event) for event in following]
    return [
        *producer_hops(input_topic),
        *service_hops(input_topic),
        *further,
        *audit_hops(),
        publish_hop(),
    ]


def names_of(hops: Iterable[Hop], event_topics: Iterable[str]) -> list[str]:
    """Return the names of hops; that to the topics has one for each topic."""
    names = [hop.name for hop in hops if not hop.name_of_row]
    return [*names, *(f"{OUTBOX_TO}{topic}" for topic in event_topics)]


def producer_hops(input_topic: str) -> list[Hop]:
    """Return the hops from the producer to the landed tables."""
    return [
        Hop(
            ledger_to_input(input_topic),
            (
                goes_in("ledger", id="position", fingerprint=VALUE),
                comes_out("acknowledged", id="position", effect="'record'", fingerprint=VALUE),
                comes_out("lost_acknowledged", id="position", effect="'loss'"),
            ),
        ),
        Hop(
            LEDGER_TO_OUTCOME,
            (
                goes_in("actual_outcome", id="position", problem="problem"),
                comes_out("actual_outcome", id="position", effect="'became ' || became"),
            ),
        ),
        Hop(
            TOPICS_TO_LANDED,
            (
                goes_in("expected_offset", id="position"),
                comes_out("landed", id="position", effect="row"),
                comes_out("lost_offset", id="position", effect="'loss'"),
            ),
        ),
    ]


def service_hops(input_topic: str) -> list[Hop]:
    """Return the hops from the input topic through the service's database to its outbox."""
    of_input = f"{KAFKA_TOPIC} = '{input_topic}'"
    return [
        Hop(
            input_to_tracking(input_topic),
            (
                goes_in(
                    "landed",
                    id="position",
                    fingerprint="sha256",
                    written_at="timestamp",
                    when="is_input",
                ),
                goes_in("lost_handled", id="position"),
                is_redelivered("redelivery", id="position", fingerprint="sha256"),
                comes_out(
                    "tracking",
                    id="position",
                    effect="'tracking'",
                    fingerprint="sha256",
                    source="'record ' || position",
                    when=of_input,
                ),
                comes_out(
                    "dead_letter",
                    id="position",
                    effect="'dead letter'",
                    when=f"is_own and {of_input}",
                ),
                comes_out("dropped_record", id="position", effect="'dropped'"),
                must_agree("outbox", id="key", fingerprint="value_sha256", when=IS_DEAD_LETTER),
            ),
        ),
        Hop(
            FORGOTTEN_TO_LANDED,
            (
                goes_in("forgotten_place", id="place", fingerprint="contents"),
                comes_out("forgotten_place", id="place", effect="effect"),
                comes_out(
                    "forgotten_landed", id="place", effect="'records'", fingerprint="contents"
                ),
            ),
        ),
        Hop(
            TRACKING_TO_DECISION,
            (
                goes_in("tracking", id="message_id"),
                comes_out(
                    "fulfillment",
                    id="message_id",
                    effect="'order ' || order_id",
                    fingerprint="compared",
                    problem="problem",
                ),
                comes_out("rejected", id="message_id", effect="effect", problem="problem"),
                must_agree(
                    "outbox",
                    id="message_id",
                    fingerprint="compared",
                    when=f"outcome = '{ACCEPTED}'",
                ),
            ),
        ),
        Hop(
            RETIRED_TO_DECISION,
            (
                goes_in("noted_message", id="place", fingerprint="contents", source=NONE),
                comes_out(
                    "retired_message_sum",
                    id="place",
                    effect="'rows'",
                    fingerprint="contents",
                    source=NONE,
                ),
            ),
        ),
        Hop(
            TRACKING_TO_OUTBOX,
            (
                goes_in("tracking", id="message_id"),
                comes_out("outbox", id="message_id", effect="event_id", when="outcome is not null"),
            ),
        ),
        Hop(
            RETIRED_TO_LANDED,
            (
                goes_in("retired", id="topic", fingerprint="contents"),
                comes_out("retired_landed", id="topic", effect="'events'", fingerprint="contents"),
            ),
        ),
        Hop(
            DEAD_LETTER_TO_OUTBOX,
            (
                goes_in("dead_letter", id="letter"),
                comes_out("outbox", id="letter", effect="event_id", when=IS_DEAD_LETTER),
            ),
        ),
        Hop(
            RETIRED_LETTER_TO_LANDED,
            (
                goes_in("retired_letter", id="place", fingerprint="contents", source=NONE),
                comes_out(
                    "retired_letter_landed",
                    id="place",
                    effect="'letters'",
                    fingerprint="contents",
                    source=NONE,
                ),
            ),
        ),
    ]


def follow(event: Event) -> Hop:
    """Return the hop of a further event: each message with the outcome has exactly one."""
    return Hop(
        f"{event.follows} → {event.event_type}",
        (
            goes_in("outbox", id="message_id", when=f"outcome = '{event.follows}'"),
            comes_out(
                "outbox",
                id="message_id",
                effect="event_id",
                when=f"event_type = '{event.event_type}'",
            ),
        ),
    )


def audit_hops() -> list[Hop]:
    """Return the hops to the audit receiver, to the mark of its answer, and to its outbox."""
    return [
        Hop(
            TRACKING_TO_AUDIT_ENTRY,
            (
                goes_in(
                    "tracking",
                    id="message_id",
                    problem="'the audit receiver refused it: ' || audit_error",
                    source="audit_source",
                    written_at="handled_at",
                ),
                comes_out(
                    "audit_entry",
                    id="message_id",
                    effect="idempotency_key",
                    fingerprint="audited",
                ),
                must_agree(
                    "outbox", id="message_id", fingerprint="audited", when="outcome is not null"
                ),
            ),
        ),
        Hop(
            TRACKING_TO_AUDIT_MARK,
            (
                goes_in(
                    "tracking", id="message_id", source="audit_source", written_at="handled_at"
                ),
                comes_out("tracking", id="message_id", effect="if(marked, 'mark', null)"),
            ),
        ),
        Hop(
            RETIRED_ENTRY_TO_LANDED,
            (
                goes_in("retired_entry", id="place", fingerprint="contents", source=NONE),
                comes_out(
                    "retired_entry_landed",
                    id="place",
                    effect="'entries'",
                    fingerprint="contents",
                    source=NONE,
                ),
            ),
        ),
        Hop(
            AUDIT_ENTRY_TO_OUTBOX,
            (
                goes_in("audit_entry", id="audit_entry_id", fingerprint="compared"),
                comes_out("outbox", id="audit_entry_id", effect="event_id", fingerprint="compared"),
            ),
        ),
    ]


def publish_hop() -> Hop:
    """Return the hop from the outboxes to the topics; each topic has counts of its own."""
    return Hop(
        f"{OUTBOX_TO}topic",
        (
            goes_in(
                "outbox",
                id="event_id",
                fingerprint=KEY_AND_VALUE,
                written_at="occurred_at",
            ),
            comes_out(
                "landed",
                id="event_id",
                effect="event_id",
                fingerprint=KEY_AND_VALUE,
                source=PUBLISHED_SOURCE,
                when="is_event",
            ),
        ),
        name_of_row=f"'{OUTBOX_TO}' || {KAFKA_TOPIC}",
    )


def describe_row(hop: Hop, rows: Rows) -> str:
    """Return Spark SQL for all that there is of a row of a hop."""
    values = {
        "hop": hop.sql_of_name(),
        "side": f"'{rows.side}'",
        "id": rows.id,
        "effect": rows.effect,
        "fingerprint": rows.fingerprint,
        "problem": rows.problem,
        "source": rows.source,
        "written_at": rows.written_at,
    }
    fields = []
    for name, sql in values.items():
        fields.append(f"'{name}', string({sql})")
    fields.append(f"'weight', {hop.weight(rows)}")
    all_fields = ", ".join(fields)
    return f"named_struct({all_fields})"


def union_hops(
    frames: Mapping[str, DataFrame],
    hops: Sequence[Hop],
    describe: Callable[[Hop, Rows], str] = describe_row,
) -> DataFrame:
    """Return the rows of all hops as one frame; each source is read once."""
    structs_of_frame = defaultdict(list)
    for hop in hops:
        for rows in hop.sides:
            takes_part = f"({rows.when}) and ({rows.id}) is not null"
            struct = f"if({takes_part}, {describe(hop, rows)}, null)"
            structs_of_frame[rows.frame].append(struct)
    selected = []
    for frame, structs in structs_of_frame.items():
        every_hop = ", ".join(structs)
        rows_of_frame = frames[frame].selectExpr(f"inline(array({every_hop}))")
        selected.append(rows_of_frame)
    return reduce(DataFrame.union, selected).where("hop is not null")
