"""What a connector asks of its worker and its server: exactly-once, overrides, failover."""

from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.rules.finding import Finding

SUPPORT = "exactly.once.support"
BOUNDARY = "transaction.boundary"
WITH_FAILOVER = 17  # the first PostgreSQL whose standbys can keep a logical slot


def exactly_once(outbox: Outbox) -> Iterator[Finding]:
    """Check that the worker offers what the connector requires; Connect refuses it otherwise."""
    source = outbox.worker("exactly.once.source.support", "disabled")
    if outbox.value(SUPPORT) == "required" and source not in (None, "enabled"):
        yield outbox.error(
            "exactly-once-worker",
            SUPPORT,
            f"{SUPPORT}=required, and exactly.once.source.support={source} in the worker: Connect "
            "refuses it",
            "exactly.once.source.support=enabled",
        )
    boundary = outbox.value(BOUNDARY, "poll")
    if boundary not in (None, "poll"):
        yield outbox.error(
            "exactly-once-boundary",
            BOUNDARY,
            f"{BOUNDARY}={boundary}: Debezium defines none of its own, so only poll works",
            f'"{BOUNDARY}": "poll"',
        )


def overrides(outbox: Outbox) -> Iterator[Finding]:
    """Check that the worker allows what the connector overrides."""
    policy = outbox.worker("connector.client.config.override.policy", "All")
    asked = sorted(key for key in outbox.block.settings if key.startswith("producer.override."))
    if asked and policy == "None":
        key = asked[0]
        yield outbox.error(
            "override-refused",
            key,
            f"{key} is set, and the worker's override policy is None: Connect refuses it",
            f"in the worker: {key.replace('.override', '')}={outbox.value(key)}",
        )


def failover(outbox: Outbox) -> Iterator[Finding]:
    """Check that a promoted standby has the slot, where the server can keep it there."""
    version = outbox.around.server_version
    if not version:
        return
    asked = outbox.value("slot.failover", "false")
    if asked == "true" and version < WITH_FAILOVER:
        yield outbox.error(
            "failover-unsupported",
            "slot.failover",
            f"slot.failover=true, and PostgreSQL {version} has no failover slots: a failover loses "
            "the slot",
            f"PostgreSQL {WITH_FAILOVER}, or a reconciliation after every failover",
        )
    if asked == "false" and outbox.around.standbys and version >= WITH_FAILOVER:
        yield outbox.warning(
            "failover-off",
            "slot.failover",
            "slot.failover is not set, and the server has a standby: after a failover the slot is "
            "gone, and with it every event that was not read",
            '"slot.failover": "true", on the server synchronized_standby_slots, on the standby '
            "sync_replication_slots",
        )
