"""librdkafka 2.x, and with it confluent-kafka: idempotence is off unless it is asked for.

Conflicts are refused. Values are read as librdkafka does: C's way with numbers, short forms of true
and false, words in any case.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from pipeline_check.clients.outcome import Outcome
from pipeline_check.clients.table import Key, keys

NEWEST = (2, 16)
IDEMPOTENT_SINCE = (1,)
IDEMPOTENCE = "enable.idempotence"
TRANSACTIONAL_ID = "transactional.id"
ACKS = "request.required.acks"
RETRIES = "message.send.max.retries"
TIMEOUT = "message.timeout.ms"
LINGER = "queue.buffering.max.ms"
IN_FLIGHT = "max.in.flight.requests.per.connection"
BACKPRESSURE = "queue.buffering.backpressure.threshold"
TRANSACTION_TIMEOUT = "transaction.timeout.ms"
SOCKET_TIMEOUT = "socket.timeout.ms"
STRATEGY = "queuing.strategy"
GAPLESS = "enable.gapless.guarantee"
RECONNECT = "reconnect.backoff.ms"
RECONNECT_MAX = "reconnect.backoff.max.ms"
EFFECTIVE = [
    IDEMPOTENCE,
    ACKS,
    RETRIES,
    IN_FLIGHT,
    TIMEOUT,
    LINGER,
    TRANSACTIONAL_ID,
    TRANSACTION_TIMEOUT,
    SOCKET_TIMEOUT,
    STRATEGY,
    BACKPRESSURE,
    GAPLESS,
    "partitioner",
    "message.max.bytes",
]
# With one of a topic's settings the library looks at all of them when it starts, else at the
# first message.
OF_TOPICS = {
    ACKS,
    TIMEOUT,
    "request.timeout.ms",
    STRATEGY,
    "produce.offset.report",
    "partitioner",
}
COMMON_NAMES = {  # as people say
    ACKS: "acks",
    RETRIES: "retries",
    TIMEOUT: "delivery.timeout.ms",
    LINGER: "linger.ms",
}
MAX_IN_FLIGHT = 5  # what the broker remembers of each producer and partition

NUMBER = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|[0-9]+)")
OCTAL = re.compile("0[0-7]*(?![xX])")
REAL = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
BOOLEANS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
PARTITIONERS = [
    "random",
    "consistent",
    "consistent_random",
    "murmur2",
    "murmur2_random",
    "fnv1a",
    "fnv1a_random",
]


@dataclass
class Configuration:
    """A producer's settings on their way to become effective."""

    outcome: Outcome
    values: dict[str, object]
    asked: set[str]
    first_timeout: float = 0  # of a message, before a transaction has changed it

    def number(self, name: str) -> float:
        """Return a value that is a number."""
        value = self.values[name]
        assert isinstance(value, int | float)
        return value

    def is_on(self, name: str) -> bool:
        """Return whether something is switched on, or given at all."""
        return bool(self.values[name])

    def adjust(self, name: str, value: float) -> None:
        """Change a value that nobody asked for, and note it."""
        before = self.values[name]
        if name in self.asked or before == value:
            return
        shown = COMMON_NAMES.get(name, name)
        says = f"{shown} {format_value(before)} becomes {format_value(value)}"
        self.outcome.change(says, shown)
        self.values[name] = value


class Refusal(NamedTuple):
    """A combination of settings that keeps the producer from starting."""

    key: str
    says: str
    is_wrong: Callable[[Configuration], bool]


ALWAYS = [
    Refusal(
        RECONNECT_MAX,
        f"{RECONNECT_MAX} must be at least {RECONNECT}",
        lambda given: given.number(RECONNECT_MAX) < given.number(RECONNECT),
    ),
    Refusal(
        GAPLESS,
        f"{GAPLESS} requires enable.idempotence=true",
        lambda given: given.is_on(GAPLESS) and not given.is_on(IDEMPOTENCE),
    ),
]
WHEN_IDEMPOTENT = [
    Refusal(
        ACKS,
        "acks must be all when enable.idempotence=true",
        lambda given: given.values[ACKS] != -1,
    ),
    Refusal(
        RETRIES,
        "retries must be at least 1 when enable.idempotence=true",
        lambda given: given.number(RETRIES) < 1,
    ),
    Refusal(
        IN_FLIGHT,
        f"{IN_FLIGHT} must be at most {MAX_IN_FLIGHT} when enable.idempotence=true",
        lambda given: given.number(IN_FLIGHT) > MAX_IN_FLIGHT,
    ),
    Refusal(
        BACKPRESSURE,
        f"{BACKPRESSURE} must be 1 when enable.idempotence=true",
        lambda given: given.number(BACKPRESSURE) > 1,
    ),
    Refusal(
        STRATEGY,
        "queuing.strategy must be fifo when enable.idempotence=true",
        lambda given: given.values[STRATEGY] != "fifo",
    ),
]
WHEN_TRANSACTIONAL = [
    Refusal(
        IDEMPOTENCE,
        "transactional.id requires enable.idempotence=true",
        lambda given: not given.is_on(IDEMPOTENCE),
    ),
    Refusal(
        SOCKET_TIMEOUT,
        "socket.timeout.ms must be at most transaction.timeout.ms + 100",
        lambda given: given.number(SOCKET_TIMEOUT) > given.number(TRANSACTION_TIMEOUT) + 100,
    ),
    Refusal(
        TIMEOUT,
        "delivery.timeout.ms must be at most transaction.timeout.ms",
        lambda given: (
            given.is_on(IDEMPOTENCE) and given.number(TIMEOUT) > given.number(TRANSACTION_TIMEOUT)
        ),
    ),
]


def producer(settings: Mapping[str, str], version: tuple[int, ...] = NEWEST) -> Outcome:
    """Return what `rd_kafka_new` makes of a producer's settings."""
    if version < IDEMPOTENT_SINCE:
        return producer_of_old(settings)
    given = parse(settings)
    outcome = given.outcome
    adjust(given)
    refuse(given)
    outcome.idempotent = given.is_on(IDEMPOTENCE)
    if not outcome.refusals:
        outcome.effective = effective(given.values)
    if not outcome.idempotent:
        off = "is off in librdkafka unless it is asked for"
        if IDEMPOTENCE in given.asked:
            off = "is set to false"
        outcome.because = f"enable.idempotence {off}"
    return outcome


def producer_of_old(settings: Mapping[str, str]) -> Outcome:
    """Return the same before 1.0, which has no idempotence, and acks of one replica by default."""
    acks = next((settings[name] for name in (ACKS, "acks") if name in settings), "1")
    effective = {"acks": "all" if acks == "-1" else acks}
    outcome = Outcome(
        effective=effective,
        because="librdkafka has no idempotent producer before 1.0",
        way_out="librdkafka 1.0 or later, with enable.idempotence=true",
    )
    for name in (IDEMPOTENCE, TRANSACTIONAL_ID):
        if name in settings:
            outcome.refuse(
                f"there is no {name} before librdkafka 1.0", name, way_out=f"remove {name}"
            )
    return outcome


def adjust(given: Configuration) -> None:
    """Make all changes that the library makes by itself, in its order."""
    transactional = given.is_on(TRANSACTIONAL_ID)
    if transactional and IDEMPOTENCE not in given.asked:
        given.outcome.change("transactional.id switches enable.idempotence on", IDEMPOTENCE)
        given.values[IDEMPOTENCE] = True
    if transactional:
        given.adjust(SOCKET_TIMEOUT, max(given.number(TRANSACTION_TIMEOUT) - 100, 900))
    if given.is_on(IDEMPOTENCE):
        given.adjust(IN_FLIGHT, min(given.number(IN_FLIGHT), MAX_IN_FLIGHT))
    given.first_timeout = given.number(TIMEOUT)
    if 0 < given.first_timeout <= given.number(LINGER):
        given.adjust(LINGER, given.first_timeout - 0.1)
    if transactional and given.is_on(IDEMPOTENCE):
        given.adjust(TIMEOUT, given.number(TRANSACTION_TIMEOUT))


def refuse(given: Configuration) -> None:
    """Note all that keeps the producer from starting; the library itself names only the first."""
    rules = list(ALWAYS)
    if given.is_on(IDEMPOTENCE):
        rules += WHEN_IDEMPOTENT
    if given.is_on(TRANSACTIONAL_ID):
        rules += WHEN_TRANSACTIONAL
    for key, says, is_wrong in rules:
        if is_wrong(given):
            given.outcome.refuse(says, key)
    if expires_while_waiting(given):
        says = "delivery.timeout.ms must be greater than linger.ms"
        if given.asked & OF_TOPICS:
            given.outcome.refuse(says, TIMEOUT, LINGER)
        else:
            given.outcome.never_sends = f"it starts, and then refuses every record, because {says}"


def expires_while_waiting(given: Configuration) -> bool:
    """Return whether a message may expire while it waits for others to fill its batch.

    The library looks before and after a transaction's adjustment.
    """
    if LINGER not in given.asked:
        return False
    linger = given.number(LINGER)
    return 0 < given.first_timeout <= linger or 0 < given.number(TIMEOUT) <= linger


def effective(values: Mapping[str, object]) -> dict[str, str]:
    """Return the values that matter, under the names that people say."""
    shown = {}
    for name in EFFECTIVE:
        value = values[name]
        if name == ACKS and value == -1:
            value = "all"
        if value != "":
            shown[COMMON_NAMES.get(name, name)] = format_value(value)
    return shown


def parse(settings: Mapping[str, str]) -> Configuration:
    """Return every value as the library reads it, with defaults, and which were asked for."""
    table = keys("librdkafka")
    given = Configuration(Outcome(), dict(defaults()), set())
    for name, text in settings.items():
        if name not in table:
            given.outcome.refuse(f'librdkafka has no setting "{name}"', name)
            continue
        key = table[table[name].extra or name]
        try:
            given.values[key.name] = read(key, text)
            given.asked.add(key.name)
        except ValueError as wrong:
            given.outcome.refuse(str(wrong), name)
    return given


@cache
def defaults() -> Mapping[str, object]:
    """Return every default; an effective setting that has none is empty."""
    found: dict[str, object] = dict.fromkeys(EFFECTIVE, "")
    for key in keys("librdkafka").values():
        is_alias = bool(key.extra)
        if key.default and not is_alias:
            found[key.name] = read(key, key.default)
    return found


def read(key: Key, text: str) -> object:
    """Return a value; ValueError with a sentence for what is refused."""
    is_number = key.type in ("int", "float")
    number = read_number(key, text) if is_number else None
    if number is not None:
        why = key.why_outside(number)
        if why:
            raise ValueError(why)
        return number
    words = allowed_words(key)
    if not words and not is_number:
        return text.lstrip()
    word = text.lstrip() if key.name == "partitioner" else text.lower()
    if word in words:
        return words[word]
    expected = " or ".join(sorted(words)) or "a number"
    raise ValueError(f"{key.name}={text!r} is not {expected}")


def allowed_words(key: Key) -> Mapping[str, object]:
    """Return the words that a setting takes, in lower case, and what each means."""
    if key.type == "boolean":
        return BOOLEANS
    if key.name == ACKS:
        return {"all": -1}
    if key.name == "partitioner":
        return {word: word for word in PARTITIONERS}
    if key.type == "enum":
        return {word.lower(): word for word in key.words()}
    return {}


def read_number(key: Key, text: str) -> float | None:
    """Return the number that a text begins with, if it does.

    Integers wrap at 32 bits, as a cast in C does.
    """
    if key.type == "float":
        real = REAL.match(text)
        return float(real.group()) if real else None
    found = NUMBER.match(text)
    if not found:
        return None
    sign, digits = found.groups()
    octal = OCTAL.match(digits)
    number = int(octal.group(), 8) if octal else int(digits, 0)
    if sign == "-":
        number = -number
    clamped = max(-(2**63), min(2**63 - 1, number))
    return (clamped + 2**31) % 2**32 - 2**31


def format_value(value: object) -> str:
    """Return a value as the library writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.15g}"
    return str(value)
