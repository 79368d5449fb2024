"""The rules for librdkafka say what librdkafka does: the library itself is asked."""

import pytest
from confluent_kafka import KafkaException, Producer

from pipeline_check.clients.librdkafka import COMMON_NAMES, producer
from pipeline_check.clients.table import keys
from tests.clients.conftest import Tell
from tests.clients.generated import SEED, configurations
from tests.clients.librdkafka import effective
from tests.clients.librdkafka_choices import CHOICES, WELCOME

GENERATED = configurations(2500, CHOICES) + configurations(2500, WELCOME, SEED + 1)


def as_told(real: dict[str, str] | str) -> dict[str, str] | str:
    """What the handle has, under the names that people know, and acks as they say it."""
    if isinstance(real, str):
        return real
    known = {COMMON_NAMES.get(name, name): value for name, value in real.items()}
    return known | ({"acks": "all"} if known.get("acks") == "-1" else {})


def disagreement(settings: dict[str, str]) -> str:
    """What the rules and the library say differently; nothing where they agree."""
    said, real = producer(settings), as_told(effective(settings))
    if isinstance(real, str):
        return (
            ""
            if said.verdict == "refused"
            else f"{settings}: refused ({real}), but the rules say {said.verdict}"
        )
    if said.verdict == "refused":
        return f"{settings}: accepted, but the rules say {[each.says for each in said.refusals]}"
    if "acks" not in real:  # no topic has settings it could start with: the rules must have noticed
        return "" if said.never_sends else f"{settings}: no record can be sent"
    wrong = {
        name: (value, real[name]) for name, value in said.effective.items() if value != real[name]
    }
    wrong |= (
        {}
        if real["enable.idempotence"] == str(said.idempotent).lower()
        else {"verdict": (said.verdict, "")}
    )
    return f"{settings}: (said, really) {wrong}" if wrong else ""


def test_the_rules_agree_with_the_library_on_thousands_of_configurations(told: Tell) -> None:
    """Verdicts and effective values of 5,000 configurations, no disagreement."""
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
    listed = {
        key.name: key.default
        for key in keys("librdkafka").values()
        if key.default and not key.extra
    }
    listed.pop("auto.commit.interval.ms")  # the handle shows the legacy one, of a topic
    ours = {
        name: value
        for name, value in listed.items()
        if name in real and keys("librdkafka")[name].type == "int"
    }
    assert len(ours) > 40
    assert {name: (value, real[name]) for name, value in ours.items() if value != real[name]} == {}


def test_a_disagreement_would_be_found() -> None:
    """The control: what the library refuses and what it adjusts is not what was asked."""
    assert isinstance(effective({"enable.idempotence": "true", "acks": "1"}), str)
    adjusted = effective({"enable.idempotence": "true"})
    assert isinstance(adjusted, dict)
    assert adjusted["max.in.flight.requests.per.connection"] == "5"
