"""kafka-python 3: idempotence is on by default.

A value that was set and conflicts with it switches it off silently; it is an error if idempotence
was asked for.
"""

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
Values = dict[str, object]


def producer(settings: Mapping[str, object]) -> Outcome:
    """Return what `KafkaProducer(**settings)` makes of the settings."""
    outcome = Outcome()
    values = DEFAULTS | {name: value for name, value in settings.items() if name in DEFAULTS}
    if values["acks"] == "all":
        values["acks"] = -1
    refuse(outcome, values, settings)
    decide_idempotence(outcome, values, settings)
    if not outcome.refusals:
        outcome.effective = effective(values, idempotent=outcome.idempotent)
    return outcome


def refuse(outcome: Outcome, values: Values, settings: Mapping[str, object]) -> None:
    """Note what keeps the producer from starting, whether it is idempotent or not."""
    for name in settings.keys() - keys("kafka-python").keys():
        outcome.refuse(f'kafka-python has no setting "{name}"', name)
    compression = settings.get("compression_type")
    if compression not in COMPRESSIONS:
        outcome.refuse(f"compression_type={compression!r} is unknown", "compression_type")
    delivery = number(values, "delivery_timeout_ms")
    least = number(values, "linger_ms") + number(values, "request_timeout_ms")
    if delivery < least:
        says = "delivery_timeout_ms must be at least linger_ms + request_timeout_ms"
        outcome.refuse(says, "delivery_timeout_ms")


def decide_idempotence(outcome: Outcome, values: Values, settings: Mapping[str, object]) -> None:
    """Switch idempotence on or off; only a value that somebody set can conflict."""
    asked_for = "enable_idempotence" in settings
    switched_on = bool(values["enable_idempotence"])
    transactional = bool(values["transactional_id"])
    if transactional and not switched_on:
        outcome.refuse("transactional_id needs enable_idempotence=True", "enable_idempotence")
    outcome.idempotent = switched_on or transactional
    if not outcome.idempotent:
        outcome.because = "enable_idempotence is set to False"
        return
    for name, says in conflicts(values, settings).items():
        if asked_for or transactional:
            outcome.refuse(f"{says} when enable_idempotence=True", name)
        else:
            setting = f"{name}={values[name]!r}"
            outcome.idempotent = False
            outcome.culprit = name
            outcome.because = (
                f"{setting} switches it off silently, since enable_idempotence is not set"
            )


def conflicts(values: Values, settings: Mapping[str, object]) -> dict[str, str]:
    """Return what was set and cannot go with idempotence, with the reason."""
    wrong = {}
    if values["acks"] != -1:
        wrong["acks"] = "acks must be 'all'"
    if values["retries"] == 0:
        wrong["retries"] = "retries must not be 0"
    if number(values, IN_FLIGHT) > 5:
        wrong[IN_FLIGHT] = f"{IN_FLIGHT} must be at most 5"
    return {name: says for name, says in wrong.items() if name in settings}


def number(values: Values, name: str) -> float:
    """Return a number, or 0 for what is none."""
    value = values[name]
    return value if isinstance(value, int | float) else 0


def effective(values: Values, *, idempotent: bool) -> dict[str, str]:
    """Return the values as the producer has them, with acks as people write it."""
    shown = values | {"enable_idempotence": idempotent}
    if shown["acks"] == -1:
        shown["acks"] = "all"
    return {name: str(value) for name, value in shown.items() if value is not None}
