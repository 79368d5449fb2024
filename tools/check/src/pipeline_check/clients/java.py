"""The Java producer by version: off before 3.0, by a bug in 3.0.0 and 3.1.0, later on unless a setting conflicts."""

from collections.abc import Callable, Mapping

from pipeline_check.clients.java_values import Values, parse, told
from pipeline_check.clients.outcome import Outcome

Version = tuple[int, ...]
NEWEST: Version = (4, 3, 1)
NOT_BY_DEFAULT = {
    (3, 0, 0),
    (3, 1, 0),
}  # the default says true, but only a value that was set is looked at
IN_FLIGHT = "max.in.flight.requests.per.connection"
MOST = 5  # requests under way: what the broker remembers of each producer and partition
EFFECTIVE = [
    *(
        "enable.idempotence",
        "acks",
        "retries",
        IN_FLIGHT,
        "delivery.timeout.ms",
        "linger.ms",
        "request.timeout.ms",
    ),
    *(
        "transactional.id",
        "transaction.timeout.ms",
        "max.request.size",
        "partitioner.class",
        "partitioner.ignore.keys",
    ),
]
CONFLICTS: list[tuple[str, Callable[[Values], bool], str]] = [
    ("acks", lambda values: bool(values["acks"] != "all"), "acks must be all"),
    ("retries", lambda values: bool(values["retries"] == 0), "retries must not be 0"),
    (
        IN_FLIGHT,
        lambda values: bool(values[IN_FLIGHT] > MOST),
        f"{IN_FLIGHT} must be at most {MOST}",
    ),
]


def producer(settings: Mapping[str, str], version: Version = NEWEST) -> Outcome:
    """What `new KafkaProducer(settings)` makes of them."""
    outcome, values, asked = parse(settings, version)
    if not outcome.refusals:
        idempotence(outcome, values, asked, version)
        delivery_timeout(outcome, values, asked)
        two_phase_commit(outcome, values, asked)
    if not outcome.refusals:
        shown = {
            name: told(values[name]) for name in EFFECTIVE if values.get(name) not in (None, "")
        }
        outcome.effective = shown | {"enable.idempotence": told(outcome.idempotent)}
    return outcome


def idempotence(outcome: Outcome, values: Values, asked: set[str], version: Version) -> None:
    """On or off; a conflict is an error if idempotence was asked for, and otherwise switches it off, or is one, too."""
    wanted = asked_for(outcome, values, asked, version)
    strict = "enable.idempotence" in asked or version < (3,) or version in NOT_BY_DEFAULT
    conflicts = [(key, says) for key, holds, says in CONFLICTS if wanted and holds(values)]
    if version < (3,) and "acks" not in asked and wanted:
        values["acks"], conflicts = "all", [each for each in conflicts if each[0] != "acks"]
    for key, says in conflicts:
        if strict or (key == IN_FLIGHT and version >= (4,)):
            outcome.refuse(f"{says} when idempotence is on", key)
        else:
            wanted = False
            why = f"{key}={told(values[key])} switches it off silently, since enable.idempotence is not set"
            outcome.because, outcome.culprit = why, key
    if not wanted and "transactional.id" in asked and not outcome.refusals:
        switch = outcome.culprit or "enable.idempotence"
        outcome.refuse(
            "transactional.id needs idempotence, which is off", switch, "transactional.id"
        )
    outcome.idempotent = wanted


def asked_for(outcome: Outcome, values: Values, asked: set[str], version: Version) -> bool:
    """Whether idempotence is on before anything conflicts with it."""
    if (version >= (3,) and version not in NOT_BY_DEFAULT) or "enable.idempotence" in asked:
        outcome.because = (
            "" if values["enable.idempotence"] else "enable.idempotence is set to false"
        )
        return bool(values["enable.idempotence"])
    by_bug = (
        "says true, but is only looked at when it is set"
        if version >= (3,)
        else "is off before 3.0 unless it is set"
    )
    outcome.because = "" if "transactional.id" in asked else f"enable.idempotence {by_bug}"
    return "transactional.id" in asked


def delivery_timeout(outcome: Outcome, values: Values, asked: set[str]) -> None:
    """The time for a record must leave room for one request; raised if nobody asked for it."""
    least = min(values["linger.ms"] + values["request.timeout.ms"], 2**31 - 1)
    if values["delivery.timeout.ms"] >= least:
        return
    if "delivery.timeout.ms" in asked:
        outcome.refuse(
            "delivery.timeout.ms must be at least linger.ms + request.timeout.ms",
            "delivery.timeout.ms",
        )
        return
    says = f"delivery.timeout.ms {values['delivery.timeout.ms']} becomes {least}"
    outcome.change(says, "delivery.timeout.ms", "linger.ms", "request.timeout.ms")
    values["delivery.timeout.ms"] = least


def two_phase_commit(outcome: Outcome, values: Values, asked: set[str]) -> None:
    """A transaction that an outside coordinator ends has no timeout of its own."""
    if values.get("transaction.two.phase.commit.enable") and "transaction.timeout.ms" in asked:
        says = "transaction.timeout.ms cannot be set when transaction.two.phase.commit.enable=true"
        outcome.refuse(says, "transaction.timeout.ms")
