"""What the guard counts, under Prometheus names."""

from collections import Counter as Counts
from collections.abc import Sequence

from prometheus_client import Counter, Gauge

from ops.guard.findings import Finding, Seen
from ops.guard.look import Landing, Look
from ops.trace.lake import LastRuns

FINDINGS = Gauge("guard_findings", "What is not well now", ["name"])
ACTS = Gauge("guard_acts", "1 on the one instance that restarts tasks, 0 on those that watch")
LAST_LOOK = Gauge("guard_last_look_timestamp_seconds", "When it last looked")
RESTARTS = Counter("guard_restarts", "Tasks that it has restarted", ["connector"])
HELD = Gauge("slot_held_bytes", "What a slot keeps of the write-ahead log", ["outbox"])
LEFT = Gauge("slot_left_bytes", "What it may keep beyond that before it is given up", ["outbox"])
WAITS = Gauge("outbox_waits_seconds", "How long the oldest event waits to be published", ["outbox"])
LAG = Gauge("guard_consumer_lag_records", "Records that the service has not committed")
LANDED = Gauge("landing_landed_records", "Records that have landed, as the checkpoint says")
LANDING_LAG = Gauge("landing_lag_records", "Records that have not landed")
RECONCILED = Gauge(
    "reconcile_last_timestamp_seconds", "When the last reconciliation began; 0: there was none"
)
GOOD = Gauge(
    "reconcile_last_good_timestamp_seconds", "When the last good one began; 0: there was none"
)
PULSE = Gauge("pulse_seconds", "How long the last pulse took from the producer to a hop", ["hop"])
PULSED = Gauge("pulse_last_timestamp_seconds", "When the last event of a pulse was seen")
PULSING = Gauge("pulse_interval_seconds", "How often a pulse is sent; 0: never")
RETAINED = Gauge("retention_last_timestamp_seconds", "When retention last deleted; 0: never")
NAMES = (
    "no_answer",
    "task_failed",
    "task_given_up",
    "task_paused",
    "publication_missing",
    "slot_lost",
    "slot_filling",
    "slot_silent",
    "events_late",
    "refused",
)


def show_landing(landing: Landing | None) -> None:
    """Set what is known of the landing; nothing is known of one elsewhere."""
    if landing is not None:
        LANDED.set(landing.landed)
        LANDING_LAG.set(landing.waiting)


def show_runs(runs: LastRuns | None) -> None:
    """Set when each has run; what is known stays while the lake does not answer."""
    if runs is None:
        return
    RECONCILED.set(runs.last.timestamp())
    GOOD.set(runs.last_good.timestamp() if runs.last_good else 0)
    RETAINED.set(runs.last_retention.timestamp() if runs.last_retention else 0)


def show_pulse(hop: str, seconds: float) -> None:
    """Set how long a pulse took; that of its event says that the way is open."""
    PULSE.labels(hop).set(seconds)
    if hop == "published":
        PULSED.set_to_current_time()


def show(look: Look, seen: Seen, findings: Sequence[Finding], *, acts: bool) -> None:
    """Set every gauge to what was seen."""
    counts = Counts(finding.name for finding in findings)
    for name in NAMES:
        FINDINGS.labels(name).set(counts[name])
    ACTS.set(acts)
    LAST_LOOK.set_to_current_time()
    if look.lag is not None:
        LAG.set(look.lag)
    for slot in look.slots or ():
        HELD.labels(slot.outbox).set(slot.held)
        if slot.left is not None:
            LEFT.labels(slot.outbox).set(slot.left)
        WAITS.labels(slot.outbox).set(seen.slots[slot.outbox].waits_for(look.at))
