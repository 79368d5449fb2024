"""The rules for Connect say what its Worker does: it is asked what it gives to a producer."""

from itertools import chain
from pathlib import Path

from pipeline_check.clients.connect import producer
from pipeline_check.clients.java import NEWEST
from tests.clients.conftest import Tell
from tests.clients.generated import SEED, configurations
from tests.clients.test_java import asked, disagreement_with
from tests.jars import run_java

CONNECT = Path(__file__).parent / "java" / "Connect.java"
CHOICES = {
    "worker:producer.enable.idempotence": ["true", "true", "false", "TRUE"],
    "worker:producer.acks": ["all", "1"],
    "worker:producer.retries": ["0", "10"],
    "worker:producer.max.in.flight.requests.per.connection": ["5", "6"],
    "worker:producer.linger.ms": ["5", "100000"],
    "worker:producer.delivery.timeout.ms": ["120000"],
    "worker:exactly.once.source.support": ["enabled", "preparing", "disabled", "ENABLED"],
    "worker:connector.client.config.override.policy": ["All", "None", "Principal", "Allowlist"],
    "worker:connector.client.config.override.allowlist": [
        "enable.idempotence,acks",
        " acks , linger.ms",
    ],
    "producer.override.enable.idempotence": ["true", "false"],
    "producer.override.acks": ["all", "-1", "1"],
    "producer.override.linger.ms": ["50"],
    "producer.override.sasl.mechanism": ["PLAIN"],
    "producer.override.max.in.flight.requests.per.connection": ["2", "7"],
}
GENERATED = configurations(1000, CHOICES)


def given(several: list[dict[str, str]]) -> list[list[str]]:
    """Return what the Worker gives to each producer: names and values, or a refusal."""
    lines = ["\t".join(["connect", *chain.from_iterable(pair.items())]) for pair in several]
    printed = run_java("connect", CONNECT, lines)
    return [line.split("\t") for line in printed if line.startswith(("config", "refused"))]


def test_the_rules_agree_with_the_worker(told: Tell) -> None:
    """Verdicts and effective values of 1,000 pairs of worker and connector, no disagreement."""
    answers = given(GENERATED)
    configured = [
        dict(zip(each[1::2], each[2::2], strict=True)) for each in answers if each[0] == "config"
    ]
    effective = iter(asked(".".join(map(str, NEWEST)), "config", configured))
    wrong, verdicts = [], []
    for settings, answer in zip(GENERATED, answers, strict=True):
        real = next(effective) if answer[0] == "config" else answer
        said = producer(settings)
        verdicts.append(said.verdict)
        said.effective.pop(
            "transactional.id", ""
        )  # named after group, connector and task, which we do not know
        found = disagreement_with(said, settings, without(real, "transactional.id"))
        wrong += [found] if found else []
    counts = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    told(
        f"seed {SEED}: {len(GENERATED)} workers and connectors on Connect "
        f"{'.'.join(map(str, NEWEST))}, {counts}"
    )
    assert wrong == [], f"seed {SEED}: {len(wrong)} disagreements, the first: {wrong[:5]}"
    assert min(counts.values()) > 100, f"the choices leave a verdict almost untried: {counts}"


def without(answer: list[str], name: str) -> list[str]:
    """The answer without one setting."""
    if name not in answer:
        return answer
    at = answer.index(name)
    return answer[:at] + answer[at + 2 :]
