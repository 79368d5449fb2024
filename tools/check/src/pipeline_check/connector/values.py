"""Settings that are right or wrong by themselves, with the reason and what to write instead."""

from collections.abc import Iterator
from typing import NamedTuple

from pipeline_check.connector.outbox import Outbox
from pipeline_check.rules.finding import Finding, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
UNSET = "unset"


class Rule(NamedTuple):
    """A setting, its default, the values that are wrong, what they do, and the right one."""

    id: str
    severity: Severity
    key: str  # with a leading dot: of the event router
    default: str
    wrong: str  # one or more, with | between them
    why: str
    right: str


RULES = (
    Rule(
        "slot-name-default",
        ERROR,
        "slot.name",
        default=UNSET,
        wrong=UNSET,
        why=(
            'every connector without a name shares the slot "debezium", and no migration can '
            "make it before the first row"
        ),
        right="<service>_outbox",
    ),
    Rule(
        "publication-name-default",
        ERROR,
        "publication.name",
        default=UNSET,
        wrong=UNSET,
        why='every connector without a name shares "dbz_publication", whatever tables that holds',
        right="outbox",
    ),
    Rule(
        "publication-autocreate",
        ERROR,
        "publication.autocreate.mode",
        default="all_tables",
        wrong="all_tables",
        why=(
            "the connector makes a publication of every table, which needs a superuser, and "
            "sends the whole database"
        ),
        right="disabled",
    ),
    Rule(
        "publication-autocreate",
        WARNING,
        "publication.autocreate.mode",
        default="all_tables",
        wrong="filtered",
        why=(
            "the connector alters the publication, so its role must own the tables, and the "
            "heartbeat's table is left out"
        ),
        right="disabled",
    ),
    Rule(
        "plugin-name",
        ERROR,
        "plugin.name",
        default="decoderbufs",
        wrong="decoderbufs",
        why="its plugin comes with no PostgreSQL, pgoutput comes with every one",
        right="pgoutput",
    ),
    Rule(
        "snapshot-mode",
        ERROR,
        "snapshot.mode",
        default="initial",
        wrong="initial|initial_only|always|schema_only",
        why=(
            "the first start, and each one after lost offsets, publishes the history of the "
            "outbox again"
        ),
        right="no_data",
    ),
    Rule(
        "snapshot-mode",
        WARNING,
        "snapshot.mode",
        default="initial",
        wrong="when_needed",
        why=(
            "after lost offsets the history of the outbox is published again, where stopping "
            "would tell of the gap"
        ),
        right="no_data",
    ),
    Rule(
        "slot-drop-on-stop",
        ERROR,
        "slot.drop.on.stop",
        default="false",
        wrong="true",
        why="every row written while the connector is stopped is lost",
        right="false",
    ),
    Rule(
        "offset-mismatch",
        ERROR,
        "offset.mismatch.strategy",
        default="no_validation",
        wrong="trust_slot|trust_greater_lsn",
        why="rows between the stored offset and the slot are skipped without an error",
        right="trust_offset",
    ),
    Rule(
        "lsn-flush",
        ERROR,
        "lsn.flush.mode",
        default="connector",
        wrong="connector_and_driver",
        why=(
            "the driver may confirm what Connect has not stored yet, and the rows in between "
            "are gone after a crash"
        ),
        right="connector",
    ),
    Rule(
        "lsn-flush",
        ERROR,
        "lsn.flush.mode",
        default="connector",
        wrong="manual",
        why="nobody confirms, so the server keeps its log for ever",
        right="connector",
    ),
    Rule(
        "lsn-flush",
        ERROR,
        "flush.lsn.source",
        default="true",
        wrong="false",
        why="nobody confirms, so the server keeps its log for ever",
        right="true",
    ),
    Rule(
        "failure-skipped",
        ERROR,
        "event.processing.failure.handling.mode",
        default="fail",
        wrong="warn|skip|ignore",
        why="an event that cannot be read is passed over, which is losing it",
        right="fail",
    ),
    Rule(
        "errors-tolerated",
        ERROR,
        "errors.tolerance",
        default="none",
        wrong="all",
        why="an event that cannot be transformed or sent is passed over, which is losing it",
        right="none",
    ),
    Rule(
        "inserts-skipped",
        ERROR,
        "skipped.operations",
        default="t",
        wrong="c|c,u,d,t|c,t|c,d",
        why="inserts are what an outbox is made of",
        right="t",
    ),
    Rule(
        "outbox-update-ignored",
        WARNING,
        ".table.op.invalid.behavior",
        default="warn",
        wrong="warn|error",
        why="an updated outbox row is somebody's mistake, and only a line in a log tells of it",
        right="fatal",
    ),
    Rule(
        "payload-expanded",
        WARNING,
        ".table.expand.json.payload",
        default="false",
        wrong="true",
        why=(
            "expanding rewrites the bytes: nulls and empty arrays disappear, and 12.10 becomes 12.1"
        ),
        right="false",
    ),
    Rule(
        "empty-payload-tombstone",
        WARNING,
        ".route.tombstone.on.empty.payload",
        default="false",
        wrong="true",
        why="an empty payload becomes a tombstone, which a compacted topic takes for a deletion",
        right="false",
    ),
    Rule(
        "tombstones",
        NOTE,
        "tombstones.on.delete",
        default="true",
        wrong="true",
        why="purging the outbox makes a second record for each row, only for the router to drop it",
        right="false",
    ),
    Rule(
        "extended-headers",
        NOTE,
        "extended.headers.enabled",
        default="true",
        wrong="true",
        why=(
            "each record carries headers of the connector's run, so a second copy of an event "
            "differs from the first"
        ),
        right="false",
    ),
)


def wrong_values(outbox: Outbox) -> Iterator[Finding]:
    """Report each setting whose wrong value is in effect."""
    has_publication = outbox.value("plugin.name", "pgoutput") in (None, "pgoutput")
    for rule in RULES:
        key = rule.key
        if key.startswith("publication.") and not has_publication:
            continue
        if key.startswith("."):
            key = outbox.prefix + key.removeprefix(".")
        value = outbox.value(key, rule.default)
        if value is None or value.lower().replace(" ", "") not in rule.wrong.split("|"):
            continue
        asked = f"{key} is not set"
        if key in outbox.block.settings:
            asked = f"{key}={value}"
        elif rule.default != UNSET:
            asked = f"{key} is not set (its default is {rule.default})"
        fix = f'"{key}": "{rule.right}"'
        yield outbox.finding(rule.id, rule.severity, key, f"{asked}: {rule.why}", fix)
