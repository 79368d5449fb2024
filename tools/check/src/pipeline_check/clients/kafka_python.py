"""kafka-python 3: on by default, off silently when a value that was set conflicts, an error if it was asked for."""

from collections.abc import Mapping

from pipeline_check.clients.outcome import Outcome
from pipeline_check.clients.table import keys

DEFAULTS: dict[str, object] = {
    "enable_idempotence": True,
    "acks": -1,
    "retries": float("inf"),
    "max_in_flight_requests_per_connection": 5,
    "delivery_timeout_ms": 120_000,
    "linger_ms": 0,
    "request_timeout_ms": 30_000,
    "transactional_id": None,
    "transaction_timeout_ms": 60_000,
    "max_request_size": 1_048_576,
}
COMPRESSIONS = ("gzip", "snappy", "lz4", "zstd", None)
IN_FLIGHT = "max_in_flight_requests_per_connection"


def producer(settings: Mapping[str, object]) -> Outcome:
    """What `KafkaProducer(**settings)` makes of them."""
    outcome = Outcome()
    values = DEFAULTS | {name: value for name, value in settings.items() if name in DEFAULTS}
    values["acks"] = -1 if values["acks"] == "all" else values["acks"]
    for name in settings.keys() - keys("kafka-python").keys():
        outcome.refuse(f'kafka-python has no setting "{name}"', name)
    if settings.get("compression_type") not in COMPRESSIONS:
        outcome.refuse(
            f"compression_type={settings['compression_type']!r} is unknown", "compression_type"
        )
    if numbers(values, "delivery_timeout_ms") < numbers(values, "linger_ms", "request_timeout_ms"):
        outcome.refuse(
            "delivery_timeout_ms must be at least linger_ms + request_timeout_ms",
            "delivery_timeout_ms",
        )
    idempotence(outcome, values, settings)
    if not outcome.refusals:
        values["enable_idempotence"] = outcome.idempotent
        values["acks"] = "all" if values["acks"] == -1 else values["acks"]
        outcome.effective = {
            name: told(value) for name, value in values.items() if value is not None
        }
    return outcome


def idempotence(
    outcome: Outcome, values: dict[str, object], settings: Mapping[str, object]
) -> None:
    """On or off; only a value that somebody set can conflict."""
    asked, transactional = "enable_idempotence" in settings, bool(values["transactional_id"])
    if asked and not values["enable_idempotence"] and transactional:
        outcome.refuse("transactional_id needs enable_idempotence=True", "enable_idempotence")
    outcome.idempotent = bool(values["enable_idempotence"]) or transactional
    outcome.because = "" if outcome.idempotent else "enable_idempotence is set to False"
    for name, says in conflicts(values, settings) if outcome.idempotent else []:
        if asked or transactional:
            outcome.refuse(f"{says} when enable_idempotence=True", name)
        else:
            outcome.idempotent = False
            why = f"{name}={values[name]!r} switches it off silently, since enable_idempotence is not set"
            outcome.because, outcome.culprit = why, name


def conflicts(values: dict[str, object], settings: Mapping[str, object]) -> list[tuple[str, str]]:
    """What was set and cannot go with idempotence."""
    wrong = {
        "acks": ("acks must be 'all'", values["acks"] != -1),
        "retries": ("retries must not be 0", values["retries"] == 0),
        IN_FLIGHT: (f"{IN_FLIGHT} must be at most 5", numbers(values, IN_FLIGHT) > 5),
    }
    return [(name, says) for name, (says, holds) in wrong.items() if name in settings and holds]


def numbers(values: Mapping[str, object], *names: str) -> float:
    """The sum of these, taking nothing for what is no number."""
    found = (values[name] for name in names)
    return sum(value for value in found if isinstance(value, int | float))


def told(value: object) -> str:
    """The value as Python writes it, texts without their quotes."""
    return str(value)
