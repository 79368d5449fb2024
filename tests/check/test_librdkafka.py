"""The rules for librdkafka say what librdkafka does: its own library is asked, thousands of times."""

import pytest
from confluent_kafka import KafkaException, Producer

from ops.check.clients.librdkafka import producer
from ops.check.clients.librdkafka_rules import KNOWN_AS
from ops.check.clients.table import keys
from tests.check.conftest import Tell
from tests.check.generated import SEED, configurations
from tests.check.librdkafka import effective

BOOLEANS = ["true", "false", "True", "1", "0", "t", "F", "yes", ""]
CHOICES = {
    "enable.idempotence": ["true", "true", "true", "false", *BOOLEANS],
    "acks": ["all", "ALL", "-1", "0", "1", "2", "1000", "1001", "-2", "some", "1x", "0x1", "010", ""],
    "request.required.acks": ["all", "-1", "1"],
    "retries": ["0", "1", "3", "2147483647", "2147483648", "-1", "many"],
    "message.send.max.retries": ["0", "5"],
    "max.in.flight.requests.per.connection": ["1", "5", "6", "1000000", "0", "1000001"],
    "max.in.flight": ["1", "5", "6"],
    "transactional.id": ["t", "", "orders-1"],
    "transaction.timeout.ms": ["1000", "999", "60000", "400000", "2000000"],
    "delivery.timeout.ms": ["0", "1", "5", "6", "60000", "60001", "120000", "900000"],
    "message.timeout.ms": ["3", "300000"],
    "linger.ms": ["0", "5", "5.5", "0.5", "60000", "400000", "900000", "900001", "-1"],
    "queue.buffering.max.ms": ["10", "100"],
    "socket.timeout.ms": ["10", "59900", "60100", "60101", "300000", "9"],
    "request.timeout.ms": ["1", "30000", "0"],
    "queuing.strategy": ["fifo", "lifo", "FIFO", "other"],
    "queue.buffering.backpressure.threshold": ["1", "2", "0"],
    "enable.gapless.guarantee": BOOLEANS,
    "reconnect.backoff.ms": ["50", "20000"],
    "reconnect.backoff.max.ms": ["10", "10000", "3600000"],
    "partitioner": ["murmur2_random", "murmur2", "consistent", "Murmur2", "mine", "random", " random"],
    "compression.type": ["lz4", "none", "zstd", "best"],
    "message.max.bytes": ["1000", "999", "2000000"],
    "batch.size": ["1", "0", "1000000"],
    "enable.auto.commit": ["false"],
    "security.protocol": ["PLAINTEXT", "plaintext", "TLS"],
    "enable.idempotance": ["true"],
    "max.block.ms": ["60000"],
}
# Most settings that are refused hide what others do: half of the configurations hold none of them.
WELCOME = {
    "enable.idempotence": ["true", "false"],
    "acks": ["all", "-1", "0", "1", "2"],
    "retries": ["0", "1", "3", "2147483647"],
    "max.in.flight": ["1", "5", "6", "1000000"],
    "transactional.id": ["t"],
    "transaction.timeout.ms": ["1000", "60000", "400000"],
    "message.timeout.ms": ["0", "4", "5", "60000", "120000", "900000"],
    "linger.ms": ["0", "5", "100", "60000"],
    "socket.timeout.ms": ["10", "60000", "300000"],
    "queuing.strategy": ["fifo", "lifo"],
    "queue.buffering.backpressure.threshold": ["1", "2"],
    "partitioner": ["murmur2_random", "consistent"],
}
GENERATED = configurations(2500, CHOICES) + configurations(2500, WELCOME, SEED + 1)


def as_told(real: dict[str, str] | str) -> dict[str, str] | str:
    """What the handle has, under the names that people know, and acks as they say it."""
    if isinstance(real, str):
        return real
    known = {KNOWN_AS.get(name, name): value for name, value in real.items()}
    return known | ({"acks": "all"} if known.get("acks") == "-1" else {})


def disagreement(settings: dict[str, str]) -> str:
    """What the rules and the library say differently; nothing where they agree."""
    said, real = producer(settings), as_told(effective(settings))
    if isinstance(real, str):
        return "" if said.verdict == "refused" else f"{settings}: refused ({real}), but the rules say {said.verdict}"
    if said.verdict == "refused":
        return f"{settings}: accepted, but the rules say {[each.says for each in said.refusals]}"
    if "acks" not in real:  # no topic has settings it could start with: the rules must have noticed
        return "" if said.never_sends else f"{settings}: no record can be sent"
    wrong = {name: (value, real[name]) for name, value in said.effective.items() if value != real[name]}
    wrong |= {} if real["enable.idempotence"] == str(said.idempotent).lower() else {"verdict": (said.verdict, "")}
    return f"{settings}: (said, really) {wrong}" if wrong else ""


def test_the_rules_agree_with_the_library_on_thousands_of_configurations(told: Tell) -> None:
    """Refused or not, idempotent or not, and every effective value: 5,000 configurations, no disagreement."""
    wrong = [found for settings in GENERATED if (found := disagreement(settings))]
    verdicts = [producer(settings).verdict for settings in GENERATED]
    counts = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    told(f"seed {SEED}: {len(GENERATED)} configurations, {counts}")
    assert wrong == [], f"seed {SEED}: {len(wrong)} disagreements, the first: {wrong[:5]}"
    assert min(counts.values()) > 300, f"the choices leave a verdict almost untried: {counts}"


@pytest.mark.parametrize("settings", GENERATED[::25])
def test_a_python_producer_is_refused_when_the_rules_say_so(settings: dict[str, str]) -> None:
    """confluent_kafka.Producer raises for exactly what the rules refuse."""
    if producer(settings).verdict == "refused":
        with pytest.raises(KafkaException):
            Producer(dict(settings))
    else:
        Producer(dict(settings))


def test_the_list_of_settings_is_the_librarys_own() -> None:
    """Every default in our list is the one that a live handle has, but for two of one name."""
    real = effective({})
    assert isinstance(real, dict)
    listed = {key.name: key.default for key in keys("librdkafka").values() if key.default and not key.extra}
    listed.pop("auto.commit.interval.ms")  # the handle shows the legacy one, of a topic
    ours = {name: value for name, value in listed.items() if name in real and keys("librdkafka")[name].type == "int"}
    assert len(ours) > 40
    assert {name: (value, real[name]) for name, value in ours.items() if value != real[name]} == {}


def test_a_disagreement_would_be_found() -> None:
    """The control: what the library refuses and what it adjusts is not what was asked."""
    assert isinstance(effective({"enable.idempotence": "true", "acks": "1"}), str)
    adjusted = effective({"enable.idempotence": "true"})
    assert isinstance(adjusted, dict)
    assert adjusted["max.in.flight.requests.per.connection"] == "5"
