"""librdkafka 2.x, and with it confluent-kafka: idempotence is off unless asked for, and conflicts are refused."""

from collections.abc import Mapping
from functools import cache

from pipeline_check.clients.librdkafka_case import (
    ACKS,
    IN_FLIGHT,
    KNOWN_AS,
    LINGER,
    PRESSURE,
    RETRIES,
    TIMEOUT,
    TRANSACTION,
    Case,
)
from pipeline_check.clients.librdkafka_rules import adjust, refuse
from pipeline_check.clients.librdkafka_values import read, told
from pipeline_check.clients.outcome import Outcome
from pipeline_check.clients.table import keys

EFFECTIVE = [
    *(
        "enable.idempotence",
        ACKS,
        RETRIES,
        IN_FLIGHT,
        TIMEOUT,
        LINGER,
        "transactional.id",
        TRANSACTION,
    ),
    *(
        "socket.timeout.ms",
        "queuing.strategy",
        PRESSURE,
        "enable.gapless.guarantee",
        "partitioner",
        "message.max.bytes",
    ),
]


def producer(settings: Mapping[str, str]) -> Outcome:
    """What `rd_kafka_new` makes of a producer's settings."""
    case = parse(settings)
    outcome, values = case.outcome, case.values
    adjust(case)
    refuse(case)
    outcome.idempotent = case.on("enable.idempotence")
    if not outcome.refusals:
        values[ACKS] = "all" if values[ACKS] == -1 else values[ACKS]
        outcome.effective = {
            KNOWN_AS.get(name, name): told(values[name]) for name in EFFECTIVE if values[name] != ""
        }
    off = (
        "is set to false"
        if "enable.idempotence" in case.asked
        else "is off in librdkafka unless it is asked for"
    )
    outcome.because = "" if outcome.idempotent else f"enable.idempotence {off}"
    return outcome


def parse(settings: Mapping[str, str]) -> Case:
    """Every value as the library reads it, defaults included, and which of them were asked for."""
    table = keys("librdkafka")
    values = dict(defaults())
    case = Case(Outcome(), values, set())
    for name, text in settings.items():
        try:
            key = table[table[name].extra or name]
            values[key.name] = read(key, text)
            case.asked.add(key.name)
        except KeyError:
            case.outcome.refuse(f'librdkafka has no setting "{name}"', name)
        except ValueError as wrong:
            case.outcome.refuse(str(wrong), name)
    return case


@cache
def defaults() -> Mapping[str, object]:
    """Every setting that has a default, and nothing for those that we tell of and that have none."""
    listed = [key for key in keys("librdkafka").values() if key.default and not key.extra]
    return dict.fromkeys(EFFECTIVE, "") | {key.name: read(key, key.default) for key in listed}
