"""The Java producer by version.

Idempotence is off before 3.0, by a bug also in 3.0.0 and 3.1.0; later it is on unless a setting
conflicts. Values are read as Java's ConfigDef does: trimmed, strictly typed, within their bounds.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from pipeline_check.clients.outcome import Outcome
from pipeline_check.clients.table import Key, keys

Version = tuple[int, ...]
Values = dict[str, Any]
NEWEST: Version = (4, 3, 1)
ON_BY_DEFAULT: Version = (3,)
# The default says true there, but only a value that was set is looked at.
WITH_BUG = {(3, 0, 0), (3, 1, 0)}
IN_FLIGHT = "max.in.flight.requests.per.connection"
MAX_IN_FLIGHT = 5  # what the broker remembers of each producer and partition
EFFECTIVE = [
    "enable.idempotence",
    "acks",
    "retries",
    IN_FLIGHT,
    "delivery.timeout.ms",
    "linger.ms",
    "request.timeout.ms",
    "transactional.id",
    "transaction.timeout.ms",
    "max.request.size",
    "partitioner.class",
    "partitioner.ignore.keys",
]
BITS = {"short": 16, "int": 32, "long": 64}
OLD_DEFAULTS = {  # defaults that were others once: until which version, and what
    "enable.idempotence": ((3,), False),
    "acks": ((3,), "1"),
    "linger.ms": ((4,), 0),
    "retries": ((2, 1), 0),
}


class Conflict(NamedTuple):
    """A setting that cannot go with idempotence, and when."""

    key: str
    is_wrong: Callable[[Values], bool]
    says: str


CONFLICTS = [
    Conflict("acks", lambda values: bool(values["acks"] != "all"), "acks must be all"),
    Conflict("retries", lambda values: bool(values["retries"] == 0), "retries must not be 0"),
    Conflict(
        IN_FLIGHT,
        lambda values: bool(values[IN_FLIGHT] > MAX_IN_FLIGHT),
        f"{IN_FLIGHT} must be at most {MAX_IN_FLIGHT}",
    ),
]


def producer(settings: Mapping[str, str], version: Version = NEWEST) -> Outcome:
    """Return what `new KafkaProducer(settings)` makes of the settings."""
    outcome, values, asked = parse(settings, version)
    if not outcome.refusals:
        decide_idempotence(outcome, values, asked, version)
        decide_delivery_timeout(outcome, values, asked)
        check_two_phase_commit(outcome, values, asked)
    if not outcome.refusals:
        values["enable.idempotence"] = outcome.idempotent
        for name in EFFECTIVE:
            if values.get(name) not in (None, ""):
                outcome.effective[name] = format_value(values[name])
    return outcome


def decide_idempotence(outcome: Outcome, values: Values, asked: set[str], version: Version) -> None:
    """Switch idempotence on or off.

    A conflict is an error if idempotence was asked for. Otherwise it switches idempotence off, or
    is an error too, which depends on setting and version.
    """
    wanted = is_wanted(outcome, values, asked, version)
    is_old = version < ON_BY_DEFAULT
    strict = "enable.idempotence" in asked or is_old or version in WITH_BUG
    if wanted and is_old and "acks" not in asked:
        values["acks"] = "all"
    conflicts = [each for each in CONFLICTS if wanted and each.is_wrong(values)]
    for key, _, says in conflicts:
        always_strict = key == IN_FLIGHT and version >= (4,)
        if strict or always_strict:
            outcome.refuse(f"{says} when idempotence is on", key)
        else:
            wanted = False
            setting = f"{key}={format_value(values[key])}"
            outcome.culprit = key
            outcome.because = (
                f"{setting} switches it off silently, since enable.idempotence is not set"
            )
    if "transactional.id" in asked and not wanted and not outcome.refusals:
        says = "transactional.id needs idempotence, which is off"
        outcome.refuse(says, outcome.culprit or "enable.idempotence", "transactional.id")
    outcome.idempotent = wanted


def is_wanted(outcome: Outcome, values: Values, asked: set[str], version: Version) -> bool:
    """Return whether idempotence is on before anything conflicts with it."""
    is_old = version < ON_BY_DEFAULT
    default_counts = not is_old and version not in WITH_BUG
    if default_counts or "enable.idempotence" in asked:
        switched_on = bool(values["enable.idempotence"])
        if not switched_on:
            outcome.because = "enable.idempotence is set to false"
        return switched_on
    if "transactional.id" in asked:
        return True
    if is_old:
        outcome.because = "enable.idempotence is off before 3.0 unless it is set"
    else:
        outcome.because = "enable.idempotence says true, but is only looked at when it is set"
    return False


def decide_delivery_timeout(outcome: Outcome, values: Values, asked: set[str]) -> None:
    """Leave room for one request in the time for a record; raise it if nobody asked for it."""
    name = "delivery.timeout.ms"
    least = min(values["linger.ms"] + values["request.timeout.ms"], 2**31 - 1)
    if values[name] >= least:
        return
    if name in asked:
        outcome.refuse(f"{name} must be at least linger.ms + request.timeout.ms", name)
        return
    says = f"{name} {values[name]} becomes {least}"
    outcome.change(says, name, "linger.ms", "request.timeout.ms")
    values[name] = least


def check_two_phase_commit(outcome: Outcome, values: Values, asked: set[str]) -> None:
    """Refuse a timeout for a transaction that an outside coordinator ends."""
    switch = "transaction.two.phase.commit.enable"
    timeout = "transaction.timeout.ms"
    if values.get(switch) and timeout in asked:
        outcome.refuse(f"{timeout} cannot be set when {switch}=true", timeout)


def parse(settings: Mapping[str, str], version: Version) -> tuple[Outcome, Values, set[str]]:
    """Return every value with the defaults of this version, and which of them were asked for."""
    outcome = Outcome()
    values = dict(newest_defaults())
    for name, (until, value) in OLD_DEFAULTS.items():
        if version < until:
            values[name] = value
    asked = set()
    for name, text in settings.items():
        key = keys("java").get(name)
        if not key or not exists(key, version):
            outcome.unknown.append(name)
            continue
        try:
            values[name] = read(key, text)
            asked.add(name)
        except ValueError as wrong:
            outcome.refuse(str(wrong), name)
    if values["acks"] == "-1":
        values["acks"] = "all"
    return outcome, values, asked


@cache
def newest_defaults() -> Values:
    """Return the defaults of the newest version."""
    return {key.name: read(key, key.default) for key in keys("java").values() if key.default}


def exists(key: Key, version: Version) -> bool:
    """Return whether a version has the setting."""
    since = tuple(map(int, key.scope.split(".")))
    if since <= version:
        return True
    until = tuple(map(int, key.extra.split("."))) if key.extra else (99,)
    return key.scope == "2.8" and version[:2] <= until


def read(key: Key, text: str) -> object:
    """Return a value; ValueError with a sentence for what is refused."""
    trimmed = text.strip()
    if key.type == "boolean":
        if trimmed.lower() not in ("true", "false"):
            raise ValueError(f"{key.name}={text!r} is not true or false")
        return trimmed.lower() == "true"
    if key.type in BITS or key.type == "double":
        number = read_number(key, trimmed)
        why = key.why_outside(number)
        if why:
            raise ValueError(why)
        return number
    words = key.words()
    any_case = key.allowed.startswith("(case")
    word = trimmed.upper() if any_case else trimmed
    if words and word not in words:
        raise ValueError(f"{key.name}={text!r} is not {' or '.join(words)}")
    if key.name == "transactional.id" and not trimmed:
        raise ValueError("transactional.id is empty")
    return trimmed


def read_number(key: Key, text: str) -> float:
    """Return a number; Java takes a sign and digits, and as many as its type can hold."""
    if key.type == "double":
        return float(text)
    bits = BITS[key.type]
    largest = 2 ** (bits - 1) - 1
    is_number = re.fullmatch(r"[+-]?\d+", text)
    if not is_number or not -largest - 1 <= int(text) <= largest:
        raise ValueError(f"{key.name}={text!r} is not a number of {bits} bits")
    return int(text)


def format_value(value: object) -> str:
    """Return a value as people write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
