"""Which act a finding gets, and which findings have to wait for the act of another one."""

import pytest

from contract.names import AUDIT_TOPIC, INPUT_TOPIC
from spark.hops import (
    AUDIT_ENTRY_TO_OUTBOX,
    LEDGER_TO_OUTCOME,
    TOPICS_TO_LANDED,
    TRACKING_TO_AUDIT_ENTRY,
    TRACKING_TO_AUDIT_MARK,
    TRACKING_TO_DECISION,
    TRACKING_TO_OUTBOX,
    input_to_tracking,
    ledger_to_input,
)
from spark.judging.outcome import DEFECTS
from spark.repair import conclude, is_repaired
from spark.repairing.acts import Act, Finding, for_people, propose

TO_AUDIT_TOPIC = f"outbox → {AUDIT_TOPIC}"
TO_TRACKING = input_to_tracking(INPUT_TOPIC)
POSITION = f"{INPUT_TOPIC}/0/7"
ACTS = {
    (TOPICS_TO_LANDED, "missing"): Act.LAND,
    (TOPICS_TO_LANDED, "duplicate"): Act.REMOVE,
    (TO_TRACKING, "missing"): Act.HAND_OVER,
    (TRACKING_TO_AUDIT_ENTRY, "missing"): Act.SEND_ENTRY,
    (TRACKING_TO_AUDIT_MARK, "missing"): Act.SEND_ENTRY,
    (TO_AUDIT_TOPIC, "missing"): Act.RESEND,
}
HOPS = {hop for hop, _ in ACTS} | {
    AUDIT_ENTRY_TO_OUTBOX,
    LEDGER_TO_OUTCOME,
    TRACKING_TO_DECISION,
    TRACKING_TO_OUTBOX,
    ledger_to_input(INPUT_TOPIC),
}


def finding(hop: str, outcome: str, id_: str = POSITION) -> Finding:
    """Return a finding."""
    return Finding(hop, id_, outcome, "")


@pytest.mark.parametrize("outcome", DEFECTS)
@pytest.mark.parametrize("hop", sorted(HOPS))
def test_a_finding_gets_its_act_or_a_person(hop: str, outcome: str) -> None:
    """Six kinds of findings have an act; every other kind, such as another byte, has none."""
    one = finding(hop, outcome)
    [proposal] = propose([one], INPUT_TOPIC)
    expected = ACTS.get((hop, outcome))
    assert proposal.act is expected
    assert for_people([proposal]) == ([] if expected else [one])


@pytest.mark.parametrize(
    ("cause", "effect"),
    [
        (
            finding(TOPICS_TO_LANDED, "missing", f"{AUDIT_TOPIC}/1/5"),
            finding(TO_AUDIT_TOPIC, "missing", "an event id"),
        ),
        (finding(TOPICS_TO_LANDED, "missing"), finding(TO_TRACKING, "extra")),
        (finding(TOPICS_TO_LANDED, "missing"), finding(ledger_to_input(INPUT_TOPIC), "missing")),
        (finding(TO_TRACKING, "missing"), finding(LEDGER_TO_OUTCOME, "missing")),
        (
            finding(TRACKING_TO_AUDIT_ENTRY, "missing", "a message"),
            finding(AUDIT_ENTRY_TO_OUTBOX, "extra", "an entry"),
        ),
    ],
)
def test_what_follows_from_another_finding_is_judged_again(cause: Finding, effect: Finding) -> None:
    """It gets neither an act nor a person; alone, or beside another id's cause, it does."""
    together = propose([cause, effect], INPUT_TOPIC)
    assert [(one.act is None, one.follows) for one in together] == [(False, False), (True, True)]
    assert for_people(together) == []

    [alone] = propose([effect], INPUT_TOPIC)
    assert alone.act or for_people([alone])


def test_a_record_of_another_topic_or_offset_is_no_cause() -> None:
    """An event is resent although a record of another topic did not land."""
    landing = finding(TOPICS_TO_LANDED, "missing", f"{INPUT_TOPIC}/0/8")
    event = finding(TO_AUDIT_TOPIC, "missing", "an event id")
    extra = finding(TO_TRACKING, "extra", POSITION)
    proposals = propose([landing, event, extra], INPUT_TOPIC)
    assert [one.act for one in proposals] == [Act.LAND, Act.RESEND, None]
    assert for_people(proposals) == [extra]


@pytest.mark.parametrize(
    ("acts", "people", "expected"),
    [
        ([], 0, True),
        (["done"], 0, True),
        (["done", "proposed"], 0, False),
        (["done"], 1, False),
    ],
)
def test_what_is_left_decides_the_exit_code(acts: list[str], people: int, expected: bool) -> None:
    """An act that is not done, or a finding that takes a person, is left."""
    result = {
        "run_id": "r",
        "acts": [{"state": state} for state in acts],
        "for_people": [{}] * people,
    }
    assert is_repaired(result) is expected
    says_nothing = conclude(result) == "run r: nothing to repair"
    assert says_nothing is (not acts and not people)
