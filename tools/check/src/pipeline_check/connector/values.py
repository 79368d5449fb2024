"""Settings that are right or wrong by themselves: one row for each, with the reason and what to write instead."""

from collections.abc import Iterator
from typing import NamedTuple

from pipeline_check.connector.outbox import Outbox
from pipeline_check.rules.finding import Finding, Severity

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


class Rule(NamedTuple):
    """A setting, its default, the values that are wrong, what they do, and the right one."""

    id: str
    severity: Severity
    key: str  # with a leading dot: of the event router
    default: str
    wrong: str  # one or more, with | between them
    why: str
    right: str


UNSET = "unset"
RULES = (
    Rule("slot-name-default", ERROR, "slot.name", UNSET, UNSET, "every connector without a name shares the slot "
         '"debezium", and no migration can make it before the first row', "<service>_outbox"),
    Rule("publication-name-default", ERROR, "publication.name", UNSET, UNSET, 'every connector without a name shares '
         '"dbz_publication", whatever tables that holds', "outbox"),
    Rule("publication-autocreate", ERROR, "publication.autocreate.mode", "all_tables", "all_tables", "the connector "
         "makes a publication of every table, which needs a superuser, and sends the whole database", "disabled"),
    Rule("publication-autocreate", WARNING, "publication.autocreate.mode", "all_tables", "filtered", "the connector "
         "alters the publication, so its role must own the tables, and the heartbeat's table is left out", "disabled"),
    Rule("plugin-name", ERROR, "plugin.name", "decoderbufs", "decoderbufs", "its plugin comes with no PostgreSQL, "
         "pgoutput comes with every one", "pgoutput"),
    Rule("snapshot-mode", ERROR, "snapshot.mode", "initial", "initial|initial_only|always|schema_only", "the first "
         "start, and each one after lost offsets, publishes the history of the outbox again", "no_data"),
    Rule("snapshot-mode", WARNING, "snapshot.mode", "initial", "when_needed", "after lost offsets the history of the "
         "outbox is published again, where stopping would tell of the gap", "no_data"),
    Rule("slot-drop-on-stop", ERROR, "slot.drop.on.stop", "false", "true", "every row written while the connector is "
         "stopped is lost", "false"),
    Rule("offset-mismatch", ERROR, "offset.mismatch.strategy", "no_validation", "trust_slot|trust_greater_lsn",
         "rows between the stored offset and the slot are skipped, and nobody is told", "trust_offset"),
    Rule("lsn-flush", ERROR, "lsn.flush.mode", "connector", "connector_and_driver", "the driver may confirm what "
         "Connect has not stored yet, and the rows in between are gone after a crash", "connector"),
    Rule("lsn-flush", ERROR, "lsn.flush.mode", "connector", "manual", "nobody confirms, so the server keeps its "
         "log for ever", "connector"),
    Rule("lsn-flush", ERROR, "flush.lsn.source", "true", "false", "nobody confirms, so the server keeps its "
         "log for ever", "true"),
    Rule("failure-skipped", ERROR, "event.processing.failure.handling.mode", "fail", "warn|skip|ignore", "an event "
         "that cannot be read is passed over, which is losing it", "fail"),
    Rule("errors-tolerated", ERROR, "errors.tolerance", "none", "all", "an event that cannot be transformed or sent is "
         "passed over, which is losing it", "none"),
    Rule("inserts-skipped", ERROR, "skipped.operations", "t", "c|c,u,d,t|c,t|c,d", "inserts are what an outbox is made "
         "of", "t"),
    Rule("outbox-update-ignored", WARNING, ".table.op.invalid.behavior", "warn", "warn|error", "an updated outbox row "
         "is somebody's mistake, and only a line in a log tells of it", "fatal"),
    Rule("payload-expanded", WARNING, ".table.expand.json.payload", "false", "true", "expanding rewrites the bytes: "
         "nulls and empty arrays disappear, and 12.10 becomes 12.1", "false"),
    Rule("empty-payload-tombstone", WARNING, ".route.tombstone.on.empty.payload", "false", "true", "an empty payload "
         "becomes a tombstone, which a compacted topic takes for a deletion", "false"),
    Rule("tombstones", NOTE, "tombstones.on.delete", "true", "true", "purging the outbox makes a second record for "
         "each row, only for the router to drop it", "false"),
    Rule("extended-headers", NOTE, "extended.headers.enabled", "true", "true", "each record carries headers of the "
         "connector's run, so a second copy of an event differs from the first", "false"),
)  # fmt: skip


def wrong_values(outbox: Outbox) -> Iterator[Finding]:
    """A finding for each row whose wrong value is in effect."""
    for one in RULES:
        key = f"{outbox.prefix}{one.key[1:]}" if one.key.startswith(".") else one.key
        value = outbox.value(key, one.default)
        if value is not None and value.lower().replace(" ", "") in one.wrong.split("|"):
            asked = f"{key}={value}" if key in outbox.block.settings else f"{key} is not set"
            default = (
                f" (its default is {one.default})"
                if asked.endswith("not set") and one.default != UNSET
                else ""
            )
            yield outbox.finding(
                one.id, one.severity, key, f"{asked}{default}: {one.why}", f'"{key}": "{one.right}"'
            )
