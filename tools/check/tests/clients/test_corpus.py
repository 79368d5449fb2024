"""What the audit says of configurations written for it: all of it, at the right line, no more."""

import pytest

from pipeline_check.rules.catalog import RULES
from tests.clients.corpus import CORPUS, EXPECTED, audited, found

# For each rule a case of the same kind that it must leave alone.
LEFT_ALONE = {
    "producer-not-idempotent": "java-explicit.properties",
    "producer-refused": "confluent_on.py",
    "producer-depends": "java-outside-does-not-matter.properties",
    "producer-default-judged": "java-explicit.properties",
    "producer-acks-lost": "java-off.properties",
    "producer-never-sends": "confluent_on.py",
    "producer-gives-up": "java-patient.properties",
    "producer-depends-on-version": "java-explicit.properties",
    "setting-changed-silently": "confluent_on.py",
    "setting-misspelt": "java-own-names.properties",
    "partitioner-disagrees": "partitioners-agree",
    "message-larger-than-topic": "sizes-agree",
    "spark-sink-repeats": "spark_read.py",
    "streams-repeats": "streams-careful.properties",
    "client-not-judged": "kafka_python_default.py",
    "connect-overrides-open": "worker-on",
    "worker-not-seen": "connector-override-alone",
    "consumer-not-seen": "confluent_function.py",
    "consumer-auto-commit": "confluent_consumer_store.py",
    "consumer-skips-history": "java-consumer-careful.properties",
    "consumer-reads-aborted": "java-consumer.properties",
    "consumer-poll-interval": "java-consumer-careful.properties",
    "consumer-refused": "confluent_consumer_store.py",
    "spark-source-skips": "spark_read_careful.py",
    "topic-one-replica": "strimzi-careful",
    "topic-acks-of-one": "broker-careful",
    "topic-insync-blocks": "broker-careful",
    "topic-unclean-election": "broker-careful",
    "topic-retention-short": "broker-careful",
    "broker-creates-topics": "broker-careful",
    "broker-own-topics-one-replica": "broker-careful",
    "cannot-read": "java-continued-line.properties",
    "ignore-without-reason": "ignored_with_reason.py",
    "ignore-unused": "ignored_with_reason.py",
}


def test_the_corpus_is_large_and_every_case_has_its_expectations() -> None:
    """At least sixty cases, none forgotten in the list, none in the list that is not there."""
    cases = {each.name for each in CORPUS.iterdir()} - {"expected.yaml"}
    assert cases == EXPECTED.keys()
    assert len(cases) >= 60


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_a_case_is_judged_as_expected(case: str) -> None:
    """Every verdict and finding is the expected one, at the expected line, and none is missing."""
    assert found(case) == sorted(EXPECTED[case])


@pytest.mark.parametrize("rule", sorted(RULES.keys() - {"baseline-stale"}))  # test_baseline.py
def test_a_rule_is_triggered_and_is_not(rule: str) -> None:
    """Some case triggers the rule, and a case of the same kind does not."""
    triggered = [
        case
        for case, expected in EXPECTED.items()
        if any(each.split()[1] == rule for each in expected)
    ]
    assert triggered
    assert LEFT_ALONE[rule] not in triggered


@pytest.mark.parametrize("case", sorted(EXPECTED))
def test_every_finding_says_what_to_do(case: str) -> None:
    """A message that says what and why, a fix to paste, a line, and a link that is one."""
    for each in audited(case).every():
        assert len(each.message) > 30, each
        assert each.fix, each
        assert each.line > 0, each
        assert each.link.startswith("https://"), each
