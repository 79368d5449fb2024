"""kafka-python: 3 is idempotent by default, 2.2 and 2.3 when asked, and nothing before them is.

In 3, a value that was set and conflicts with idempotence switches it off silently; it is an error
if idempotence was asked for. In 2.2 and 2.3 it is an error always. The same holds for an
`api_version` before 0.11, the first broker with producer ids.
"""

from collections.abc import Mapping

from pipeline_check.clients.outcome import Outcome
from pipeline_check.clients.table import keys

Version = tuple[int, ...]
Values = dict[str, object]

NEWEST: Version = (3, 0, 12)
BY_DEFAULT: Version = (3,)
WHEN_ASKED: Version = (2, 2)
IN_FLIGHT = "max_in_flight_requests_per_connection"
BROKER = "api_version"
WITH_PRODUCER_IDS: Version = (0, 11)
DEFAULTS: Values = {
    "enable_idempotence": True,
    "acks": -1,
    "retries": float("inf"),
    IN_FLIGHT: 5,
    "delivery_timeout_ms": 120_000,
    "linger_ms": 0,
    "request_timeout_ms": 30_000,
    "transactional_id": None,
    "transaction_timeout_ms": 60_000,
    "max_request_size": 1_048_576,
}
OLDER_DEFAULTS: Values = {"enable_idempotence": False, "acks": 1}
FIRST_DEFAULTS: Values = OLDER_DEFAULTS | {
    "retries": 0,
    "delivery_timeout_ms": None,
    "transaction_timeout_ms": None,
}
# Names that the list of version 3 has and an older one has not, by the version that brought them.
SINCE = {
    "enable_idempotence": WHEN_ASKED,
    "transactional_id": WHEN_ASKED,
    "transaction_timeout_ms": WHEN_ASKED,
    "delivery_timeout_ms": WHEN_ASKED,
    "bootstrap_timeout_ms": BY_DEFAULT,
    "client_dns_lookup": BY_DEFAULT,
    "proxy_url": BY_DEFAULT,
    "receive_message_max_bytes": (2, 3, 1),
}
# Names that only older versions have.
UNTIL_3 = {
    "api_version_auto_timeout_ms",
    "bootstrap_topics_filter",
    "buffer_memory",
    "sock_chunk_buffer_count",
    "sock_chunk_bytes",
}
COMPRESSIONS = ("gzip", "snappy", "lz4", "zstd", None)
OLD_BROKER = "api_version must be at least 0.11, or be left out"
SWITCH = 'enable_idempotence=True, acks="all"'
UPGRADE = "kafka-python>=3 in what you install, and enable_idempotence=True here"


def producer(settings: Mapping[str, object], version: Version = NEWEST) -> Outcome:
    """Return what `KafkaProducer(**settings)` makes of the settings."""
    outcome = Outcome()
    defaults = defaults_of(version)
    values = defaults | {name: value for name, value in settings.items() if name in defaults}
    if values["acks"] == "all":
        values["acks"] = -1
    refuse(outcome, values, settings, version)
    if version >= BY_DEFAULT:
        decide_idempotence(outcome, values, settings)
    elif version >= WHEN_ASKED:
        idempotent_when_asked(outcome, values, settings)
    else:
        outcome.because = "kafka-python has no idempotent producer before 2.2"
        outcome.way_out = UPGRADE
    if is_old_broker(settings) and not outcome.idempotent:
        outcome.way_out = f"{outcome.way_out or SWITCH}, without api_version"
    if not outcome.refusals:
        outcome.effective = effective(values, idempotent=outcome.idempotent)
    return outcome


def defaults_of(version: Version) -> Values:
    """Return what a version takes where nothing is set."""
    if version >= BY_DEFAULT:
        return DEFAULTS
    return DEFAULTS | (OLDER_DEFAULTS if version >= WHEN_ASKED else FIRST_DEFAULTS)


def names_of(version: Version) -> set[str]:
    """Return the settings that a version has."""
    listed = {name for name in keys("kafka-python") if version >= SINCE.get(name, ())}
    return listed if version >= BY_DEFAULT else listed | UNTIL_3


def refuse(
    outcome: Outcome, values: Values, settings: Mapping[str, object], version: Version
) -> None:
    """Note what keeps the producer from starting, whether it is idempotent or not."""
    for name in sorted(settings.keys() - names_of(version)):
        number_of = ".".join(map(str, version))
        has_it = name in keys("kafka-python") or name in UNTIL_3
        which = f"kafka-python {number_of}" if has_it else "kafka-python"
        way_out = UPGRADE if version < SINCE.get(name, ()) else ""
        outcome.refuse(f'{which} has no setting "{name}"', name, way_out=way_out)
    compression = settings.get("compression_type")
    if compression not in COMPRESSIONS:
        outcome.refuse(f"compression_type={compression!r} is unknown", "compression_type")
    if version < BY_DEFAULT:
        return
    delivery = number(values, "delivery_timeout_ms")
    least = number(values, "linger_ms") + number(values, "request_timeout_ms")
    if delivery < least:
        says = "delivery_timeout_ms must be at least linger_ms + request_timeout_ms"
        outcome.refuse(says, "delivery_timeout_ms")


def idempotent_when_asked(outcome: Outcome, values: Values, settings: Mapping[str, object]) -> None:
    """Switch idempotence on where it is asked for, as 2.2 and 2.3 do: then nothing may conflict."""
    switched_on = bool(values["enable_idempotence"])
    transactional = bool(values["transactional_id"])
    if transactional and "enable_idempotence" in settings and not switched_on:
        outcome.refuse("transactional_id needs enable_idempotence=True", "enable_idempotence")
    outcome.idempotent = switched_on or transactional
    if not outcome.idempotent:
        is_set = "enable_idempotence" in settings
        outcome.because = (
            "enable_idempotence is set to False"
            if is_set
            else "enable_idempotence is off before kafka-python 3 unless it is asked for"
        )
        return
    if IN_FLIGHT not in settings:
        outcome.change(f"{IN_FLIGHT} becomes 1", IN_FLIGHT)
        values[IN_FLIGHT] = 1
    elif values[IN_FLIGHT] != 1:
        says = f"{IN_FLIGHT} must be 1 when enable_idempotence=True"
        outcome.refuse(says, IN_FLIGHT, good="1")
    if "acks" not in settings:
        values["acks"] = -1
    elif values["acks"] != -1:
        outcome.refuse("acks must be 'all' when enable_idempotence=True", "acks")
    if values["retries"] == 0:
        outcome.refuse("retries must not be 0 when enable_idempotence=True", "retries")
    if is_old_broker(settings):
        outcome.refuse(OLD_BROKER + " when enable_idempotence=True", BROKER)


def is_old_broker(settings: Mapping[str, object]) -> bool:
    """Return whether the client is told of a broker that has no producer ids."""
    told = settings.get(BROKER)
    if isinstance(told, str):
        told = tuple(int(part) for part in told.split(".") if part.isdigit())
    return isinstance(told, tuple) and () < told < WITH_PRODUCER_IDS


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
            setting = f"{name}={settings[name]!r}"
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
    if is_old_broker(settings):
        wrong[BROKER] = OLD_BROKER
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
