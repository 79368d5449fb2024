"""What a connector asks of its worker and its server: exactly-once, overrides, failover."""

from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.rules.finding import Finding, Severity

EXACTLY = "exactly.once.support"
WITH_FAILOVER = 17  # the first PostgreSQL whose standbys can keep a logical slot


def exactly_once(outbox: Outbox) -> Iterator[Finding]:
    """What is required can be had: otherwise Connect refuses the connector."""
    source = outbox.worker("exactly.once.source.support", "disabled")
    if outbox.value(EXACTLY) == "required" and source not in (None, "enabled"):
        message = f"{EXACTLY}=required, and exactly.once.source.support={source} in the worker: Connect refuses it"
        fix = "exactly.once.source.support=enabled"
        yield outbox.finding("exactly-once-worker", Severity.ERROR, EXACTLY, message, fix)
    boundary = outbox.value("transaction.boundary", "poll")
    if boundary not in (None, "poll"):
        message = (
            f"transaction.boundary={boundary}: Debezium defines none of its own, so only poll works"
        )
        fix = '"transaction.boundary": "poll"'
        yield outbox.finding(
            "exactly-once-boundary", Severity.ERROR, "transaction.boundary", message, fix
        )


def overrides(outbox: Outbox) -> Iterator[Finding]:
    """What the connector overrides, the worker allows."""
    policy = outbox.worker("connector.client.config.override.policy", "All")
    asked = sorted(key for key in outbox.block.settings if key.startswith("producer.override."))
    if asked and policy == "None":
        message = f"{asked[0]} is set, and the worker's override policy is None: Connect refuses it"
        fix = f"in the worker: {asked[0].replace('.override', '')}={outbox.value(asked[0])}"
        yield outbox.finding("override-refused", Severity.ERROR, asked[0], message, fix)


def failover(outbox: Outbox) -> Iterator[Finding]:
    """A slot that a promoted standby must have is kept there, where the server can."""
    version, asked = outbox.around.server_version, outbox.value("slot.failover", "false")
    if asked == "true" and version and version < WITH_FAILOVER:
        message = f"slot.failover=true, and PostgreSQL {version} has no failover slots: a failover loses the slot"
        fix = f"PostgreSQL {WITH_FAILOVER}, or a reconciliation after every failover"
        yield outbox.finding("failover-unsupported", Severity.ERROR, "slot.failover", message, fix)
    if asked == "false" and outbox.around.standbys and version and version >= WITH_FAILOVER:
        message = "slot.failover is not set, and the server has a standby: after a failover the slot is gone, and with "
        fix = '"slot.failover": "true", on the server synchronized_standby_slots, on the standby sync_replication_slots'
        message += "it every event that was not read"
        yield outbox.finding("failover-off", Severity.WARNING, "slot.failover", message, fix)


RULES = (exactly_once, overrides, failover)
