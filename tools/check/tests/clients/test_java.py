"""The rules for the Java producer say what kafka-clients does, in four versions."""

from itertools import chain
from pathlib import Path

import pytest

from pipeline_check.clients.java import producer
from pipeline_check.clients.outcome import Outcome
from tests.clients.conftest import Tell
from tests.clients.generated import SEED, configurations
from tests.jars import run_java

EFFECTIVE = Path(__file__).parent / "java" / "Effective.java"
VERSIONS = ["2.8.2", "3.1.0", "3.9.2", "4.3.1"]
CHOICES = {
    "enable.idempotence": ["true", "true", "false", "TRUE", " true ", "yes", ""],
    "acks": ["all", "-1", "0", "1", "2", "ALL", " all"],
    "retries": ["0", "1", "2147483647", "2147483648", "-1", "+5", "5.0", "0x1"],
    "max.in.flight.requests.per.connection": ["1", "5", "6", "100", "0"],
    "transactional.id": ["t", "orders-1"],
    "transaction.timeout.ms": ["1000", "60000", "many"],
    "transaction.two.phase.commit.enable": ["true", "false"],
    "delivery.timeout.ms": ["30000", "29999", "120000", "0", "2147483647", "-1"],
    "linger.ms": ["0", "5", "60000", "100000", "9223372036854775807", "-1"],
    "request.timeout.ms": ["30000", "120000", "2147483647", "0"],
    "max.request.size": ["1048576", "-1", "0"],
    "security.protocol": ["PLAINTEXT", "plaintext"],
    "client.id": ["orders"],
    "enable.idempotance": ["true"],
    "max.in.flight": ["6"],
    "message.timeout.ms": ["1"],
}
# Most settings that are refused hide what others do: half of the configurations hold none of them.
WELCOME = {
    "enable.idempotence": ["true", "false"],
    "acks": ["all", "-1", "0", "1"],
    "retries": ["0", "1", "2147483647"],
    "max.in.flight.requests.per.connection": ["1", "5", "6"],
    "transactional.id": ["t"],
    "delivery.timeout.ms": ["35000", "120000"],
    "linger.ms": ["0", "100000"],
    "request.timeout.ms": ["30000", "20000"],
}
GENERATED = configurations(1500, CHOICES) + configurations(1500, WELCOME, SEED + 1)
WHOLE = GENERATED[::15]  # these as whole producers, too: about eighty a second


def asked(version: str, how: str, several: list[dict[str, str]]) -> list[list[str]]:
    """Return what the client of this version answers, all in one JVM."""
    lines = ["\t".join([how, *chain.from_iterable(settings.items())]) for settings in several]
    printed = run_java(version, EFFECTIVE, lines)
    return [line.split("\t") for line in printed]


def disagreement(settings: dict[str, str], version: str, answer: list[str]) -> str:
    """What the rules and the client say differently; nothing where they agree."""
    return disagreement_with(
        producer(settings, tuple(map(int, version.split(".")))), settings, answer
    )


def disagreement_with(said: Outcome, settings: dict[str, str], answer: list[str]) -> str:
    """The same for an outcome that is there already."""
    if answer[0] == "refused":
        return (
            ""
            if said.verdict == "refused"
            else f"{settings}: refused ({answer[1]}), but the rules: {said.verdict}"
        )
    if said.verdict == "refused":
        return f"{settings}: accepted, but the rules say {[each.says for each in said.refusals]}"
    real = dict(zip(answer[1::2], answer[2::2], strict=True))
    real["acks"] = real["acks"].replace("-1", "all")
    shared = {name: (said.effective.get(name), value) for name, value in real.items()}
    wrong = {name: pair for name, pair in shared.items() if pair[0] != pair[1]}
    return f"{settings}: (said, really) {wrong}" if wrong else ""


@pytest.mark.parametrize("version", VERSIONS)
def test_the_rules_agree_with_the_client_on_thousands_of_configurations(
    version: str, told: Tell
) -> None:
    """Verdicts and effective values of 3,000 configurations, no disagreement."""
    answers = [*asked(version, "config", GENERATED), *asked(version, "whole", WHOLE)]
    cases = [*GENERATED, *WHOLE]
    wrong = [
        found
        for settings, answer in zip(cases, answers, strict=True)
        if (found := disagreement(settings, version, answer))
    ]
    verdicts = [
        producer(settings, tuple(map(int, version.split(".")))).verdict for settings in cases
    ]
    counts = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    told(f"seed {SEED}: {len(cases)} configurations on kafka-clients {version}, {counts}")
    assert wrong == [], f"seed {SEED}: {len(wrong)} disagreements, the first: {wrong[:5]}"
    assert min(counts.values()) > 150, f"the choices leave a verdict almost untried: {counts}"


def test_the_versions_differ_where_the_rules_say_so() -> None:
    """The control: the same settings are off, off by the bug, off silently, and refused."""
    several: list[dict[str, str]] = [{}, {"max.in.flight.requests.per.connection": "6"}]
    answers = {
        version: [each[:3] for each in asked(version, "whole", several)] for version in VERSIONS
    }
    off, on = ["ok", "enable.idempotence", "false"], ["ok", "enable.idempotence", "true"]
    assert [answers[version][0] for version in VERSIONS] == [off, off, on, on]
    assert [answers[version][1] for version in VERSIONS[:3]] == [off, off, off]
    assert answers["4.3.1"][1][0] == "refused"
