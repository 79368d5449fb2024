"""aiokafka: idempotence is off unless asked for, and then anything but acks="all" is an error."""

from collections.abc import Mapping

from pipeline_check.clients.outcome import Outcome
from pipeline_check.clients.table import keys

COMPRESSIONS = ("gzip", "snappy", "lz4", "zstd", None)
ACKS: tuple[object, ...] = (0, 1, -1, "all")
MISSING = object()


def producer(settings: Mapping[str, object]) -> Outcome:
    """Return what `AIOKafkaProducer(**settings)` makes of the settings."""
    asked_for = bool(settings.get("enable_idempotence", False))
    transactional = settings.get("transactional_id") is not None
    outcome = Outcome(idempotent=asked_for or transactional)
    refuse(outcome, settings)
    if transactional and not asked_for:
        outcome.change("transactional_id switches enable_idempotence on", "transactional_id")
    if not outcome.idempotent and "enable_idempotence" in settings:
        outcome.because = "enable_idempotence is set to False"
    elif not outcome.idempotent:
        outcome.because = "enable_idempotence is off in aiokafka unless it is asked for"
    if not outcome.refusals:
        outcome.effective = effective(settings, idempotent=outcome.idempotent)
    return outcome


def refuse(outcome: Outcome, settings: Mapping[str, object]) -> None:
    """Note everything that keeps the producer from starting."""
    acks = settings.get("acks", MISSING)
    for name in settings.keys() - keys("aiokafka").keys():
        outcome.refuse(f'aiokafka has no setting "{name}"', name)
    compression = settings.get("compression_type")
    if compression not in COMPRESSIONS:
        outcome.refuse(f"compression_type={compression!r} is unknown", "compression_type")
    if acks is not MISSING and acks not in ACKS:
        outcome.refuse(f"acks={acks!r} is not 0, 1, -1 or 'all'", "acks")
    elif outcome.idempotent and acks not in (MISSING, -1, "all"):
        outcome.refuse("acks must be 'all' when enable_idempotence=True", "acks")


def effective(settings: Mapping[str, object], *, idempotent: bool) -> dict[str, str]:
    """Return the values that matter, as the producer has them."""
    acks = settings.get("acks", "all" if idempotent else 1)
    values: dict[str, object] = {
        "enable_idempotence": idempotent,
        "acks": "all" if acks == -1 else acks,
        "request_timeout_ms": settings.get("request_timeout_ms", 40_000),
        "linger_ms": settings.get("linger_ms", 0),
        "max_request_size": settings.get("max_request_size", 1_048_576),
        "transactional_id": settings.get("transactional_id"),
    }
    return {name: str(value) for name, value in values.items() if value is not None}
