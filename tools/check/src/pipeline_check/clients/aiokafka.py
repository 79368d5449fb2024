"""aiokafka: idempotence is off unless asked for, and then anything but acks="all" is an error."""

from collections.abc import Mapping

from pipeline_check.clients.outcome import Outcome
from pipeline_check.clients.table import keys

COMPRESSIONS = ("gzip", "snappy", "lz4", "zstd", None)
ACKS: tuple[object, ...] = (0, 1, -1, "all")
MISSING = object()


def producer(settings: Mapping[str, object]) -> Outcome:
    """What `AIOKafkaProducer(**settings)` makes of them."""
    outcome = Outcome()
    acks = settings.get("acks", MISSING)
    transactional = settings.get("transactional_id") is not None
    outcome.idempotent = transactional or bool(settings.get("enable_idempotence", False))
    for name in settings.keys() - keys("aiokafka").keys():
        outcome.refuse(f'aiokafka has no setting "{name}"', name)
    if settings.get("compression_type") not in COMPRESSIONS:
        outcome.refuse(
            f"compression_type={settings['compression_type']!r} is unknown", "compression_type"
        )
    if acks is not MISSING and acks not in ACKS:
        outcome.refuse(f"acks={acks!r} is not 0, 1, -1 or 'all'", "acks")
    elif outcome.idempotent and acks not in (MISSING, -1, "all"):
        outcome.refuse("acks must be 'all' when enable_idempotence=True", "acks")
    switched = transactional and not settings.get("enable_idempotence", False)
    if switched:
        outcome.change("transactional_id switches enable_idempotence on", "transactional_id")
    off = (
        "is set to False"
        if "enable_idempotence" in settings
        else "is off in aiokafka unless it is asked for"
    )
    outcome.because = "" if outcome.idempotent else f"enable_idempotence {off}"
    if not outcome.refusals:
        outcome.effective = effective(settings, outcome.idempotent, acks)
    return outcome


def effective(settings: Mapping[str, object], idempotent: bool, acks: object) -> dict[str, str]:
    """The values that matter, as the producer has them."""
    default = "all" if idempotent else 1
    shown: dict[str, object] = {
        "enable_idempotence": idempotent,
        "acks": default if acks is MISSING else "all" if acks == -1 else acks,
        "request_timeout_ms": settings.get("request_timeout_ms", 40_000),
        "linger_ms": settings.get("linger_ms", 0),
        "max_request_size": settings.get("max_request_size", 1_048_576),
        "transactional_id": settings.get("transactional_id"),
    }
    return {name: str(value) for name, value in shown.items() if value is not None}
