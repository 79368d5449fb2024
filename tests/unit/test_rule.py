"""The business rule, whichever it is: what Python gives it, and the events that it may decide on.

What it writes and decides is tested on a real Postgres (tests/integration/test_store.py).
"""

import re

import pytest
from pydantic import TypeAdapter

from contract.audit import OUTCOMES, AuditBody
from contract.events import EVENTS, REASONS, Event
from contract.samples import every_sample
from service.record import Message, Record, understand
from service.rule import COLUMNS, audit_body, facts
from service.write import RULE, Rule, check_event_types, statement

SAMPLE = every_sample("s")[0]
UNKNOWN = RULE.sql.replace(f"'{EVENTS[-1].event_type}'", "'never-heard-of'")


@pytest.fixture
def message() -> Message:
    """The message in a good sample."""
    key = SAMPLE.order_id.encode()
    return understand(Record("t", 0, 0, key, SAMPLE.value, [*SAMPLE.headers()]))


def test_each_column_has_a_value_and_each_value_a_column(message: Message) -> None:
    """A value without a column would be dropped silently, a column without one would be null."""
    names = [column.split()[0] for column in COLUMNS.split(",")]
    assert set(facts(message, "s")) == set(names)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_what_the_audit_is_sent_keeps_its_contract(message: Message, outcome: str) -> None:
    """The receiver refuses no entry that the rule makes."""
    body = audit_body(message, outcome, "s")
    assert TypeAdapter(AuditBody).validate_python(body, strict=True) == body


def test_another_subscriber_has_ids_of_its_own(message: Message) -> None:
    """What two subscribers make of one message is never the same thing."""
    one, two = (facts(message, subscriber) for subscriber in ("one", "two"))
    assert {name for name in one if one[name] != two[name]} != set()


def test_the_rule_names_each_event_and_each_reason_of_the_contract() -> None:
    """Those are the literals that a reader finds in rule.sql."""
    literals = set(re.findall(r"'([^']*)'", RULE.sql))
    assert literals >= {event.event_type for event in EVENTS} | set(REASONS)


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (RULE._replace(sql=UNKNOWN), "never-heard-of is not in EVENTS"),
        (
            RULE._replace(events=(*EVENTS, Event("order-noted", "a.events", follows="fulfilled"))),
            "never decides on order-noted",
        ),
    ],
)
def test_a_rule_and_a_contract_that_disagree_end_the_process(
    rule: Rule, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the start and with exit code 2: no event is dropped, and no message is buried for it."""
    with pytest.raises(SystemExit) as ended:
        statement("fresh as (select message_id from item)", rule)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


def test_the_rule_and_the_contract_of_this_house_agree() -> None:
    """The control: what is here is not refused."""
    check_event_types(RULE)
