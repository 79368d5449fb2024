"""Each law finds the rules that break it: this house's own, each with one defect built in.

A mutant changes rule.sql, known.sql or rule.py as a person might, and the law's sentence has to
say what happened. These come with the template: a copy has a rule of its own.
"""

from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

from contract.audit import AuditBody
from contract.events import ACCEPTED, Event
from service.record import Message
from service.rule import audit_body
from service.write import NOTHING, RULE, Rule
from tests.builders import settle_all
from tests.laws import laws
from tests.laws.deliveries import every_delivery, find_rivals, records_of
from tests.laws.server import Server
from tests.laws.world import Begin, LawBrokenError, begin_world

SAMPLES = every_delivery()
[RIVAL] = find_rivals().values()

# What some mutants write to, or take a number from.
DIARY = "create table diary (message_id text); grant select, insert on diary to app;"
NUMBERS = "create sequence numbers; grant usage on numbers to app;"
DECISION = "decision as ("
WINNER = "coalesce(accepted.message_id, fulfilled_by(order_id))"
REST_OF_EVENT = "customer_id, placed_at, lines, total\n            ) as body"
NOTED = Event("order-noted", "fulfillment.events", follows=ACCEPTED)


class Mutant(NamedTuple):
    """A rule with a defect, the law that it breaks, and what the law says of it."""

    law: partial[None]
    rule: Rule
    says: str
    changes: str = ""  # to the tables


def edit(old: str, new: str, rule: Rule = RULE) -> Rule:
    """Return a rule with one place of its SQL written otherwise."""
    assert rule.sql.count(old) == 1, old
    return rule._replace(sql=rule.sql.replace(old, new))


def write_diary(source: str) -> Rule:
    """Return a rule that writes a further row for each message of this source."""
    part = f"noticed as (insert into diary select message_id from {source}),\n\n"
    return edit(DECISION, part + DECISION)


def add_to_event(column: str) -> Rule:
    """Return a rule whose event of an accepted message says one thing more."""
    return edit(REST_OF_EVENT, REST_OF_EVENT.replace("total", f"total, {column}"))


def note(source: str) -> Rule:
    """Return a rule with a further event, for each message of this source."""
    branch = f"""
    union all

    select message_id, n, 'order-noted', order_id, json_build_object('message_id', message_id)
    from {source}
)"""
    assert RULE.sql.endswith("from rejected\n)")
    return RULE._replace(sql=RULE.sql.removesuffix(")") + branch, events=(*RULE.events, NOTED))


def by_chance(column: str) -> Rule:
    """Return a rule that is given something else each time."""

    def facts(message: Message, subscriber: str) -> dict[str, Any]:
        return RULE.facts(message, subscriber) | {column: str(uuid4())}

    return RULE._replace(facts=facts)


OUTCOMES = partial(laws.every_outcome_publishes_exactly_its_events, deliveries=SAMPLES)
NO_MESSAGE = partial(laws.what_is_no_message_leaves_a_dead_letter_alone, deliveries=SAMPLES)
AGAIN = partial(laws.a_message_that_comes_again_changes_nothing, deliveries=SAMPLES)
FORGOTTEN = partial(laws.a_message_that_tracking_forgot_changes_nothing, deliveries=SAMPLES)
CONFLICT = partial(laws.another_value_under_a_known_id_is_a_conflict, deliveries=SAMPLES)
ONE_WINS = partial(laws.of_two_rivals_one_wins, make_rival=RIVAL)
CRASH = partial(laws.a_crash_at_any_step_ends_the_same, deliveries=SAMPLES)
SAME_BYTES = partial(laws.the_same_records_leave_the_same_bytes, deliveries=SAMPLES)
ANY_SEQUENCE = partial(laws.any_sequence_and_any_batches_end_the_same, deliveries=SAMPLES)
ONE_BATCH = partial(laws.two_workers_on_one_batch_end_as_one, deliveries=SAMPLES)
NO_DEADLOCK = partial(laws.two_workers_with_rivals_do_not_wait_for_each_other, make_rival=RIVAL)

MUTANTS = {
    "an event too many": Mutant(
        OUTCOMES, note("judged"), "should be rejected, with the events order-rejected, and has"
    ),
    "an event too few": Mutant(
        OUTCOMES,
        note("judged where false"),
        "message s-0 (order) should be fulfilled, with the events order-fulfilled and order-noted",
    ),
    "no decision": Mutant(
        OUTCOMES,
        RULE._replace(sql=RULE.sql.removesuffix(")") + "    where false\n)"),
        "(second): the service ends with: service/rule.sql: a message has not exactly one",
    ),
    "another reason": Mutant(
        OUTCOMES,
        edit("'already_fulfilled'", "'too_late'"),
        "should be rejected for already_fulfilled, and is for too_late",
    ),
    "a table that the service may not write": Mutant(
        OUTCOMES,
        write_diary("fresh"),
        "what rule.sql writes is refused by the database: 42501 (permission denied for",
        "create table diary (message_id text)",
    ),
    "a row for what is no message": Mutant(
        NO_MESSAGE,
        write_diary("item where not is_message"),
        "table diary: 1 too many",
        DIARY,
    ),
    "a row without asking what is fresh": Mutant(
        AGAIN,
        write_diary("item where is_message")._replace(known=NOTHING),
        "message s-0 (order), handled again, changed table diary: 1 too many",
        DIARY,
    ),
    "no row that knows": Mutant(
        FORGOTTEN,
        RULE._replace(known=NOTHING),
        "message s-0 (order), handled again when tracking had forgotten it, changed",
    ),
    "a row that does not know the value": Mutant(
        partial(CONFLICT, forgotten=True),
        RULE._replace(known=RULE.known.replace("value_sha256", "null::bytea as value_sha256")),
        "which tracking had forgotten, should leave one dead letter",
    ),
    "a row for a conflict": Mutant(
        partial(CONFLICT, forgotten=False),
        write_diary("delivered where is_message"),
        "and nothing else, and left 1 with 1, and changed: table diary: 1 too many",
        DIARY,
    ),
    "two winners": Mutant(
        ONE_WINS, edit(WINNER, "message_id"), "one should be fulfilled, and 2 are"
    ),
    "no winner": Mutant(ONE_WINS, edit(WINNER, "'nobody'"), "one should be fulfilled, and 0 are"),
    "a number of a sequence": Mutant(
        CRASH,
        add_to_event("nextval('numbers') as number"),
        "after a crash within step 1 of the batch (write)",
        NUMBERS,
    ),
    "an id by chance": Mutant(
        SAME_BYTES, by_chance("fulfillment_id"), "left something else the second time"
    ),
    "an event id by chance": Mutant(SAME_BYTES, by_chance("event_id"), "table outbox: "),
    "a clock": Mutant(SAME_BYTES, add_to_event("clock_timestamp() as at"), "table outbox: "),
    "the place in the batch": Mutant(
        ANY_SEQUENCE, add_to_event("n"), "in another sequence or other batches"
    ),
    "a count of what came before": Mutant(
        ANY_SEQUENCE,
        add_to_event("(select count(*) from fulfillment) as earlier"),
        "in another sequence or other batches",
    ),
    "a row that two workers write": Mutant(
        ONE_BATCH,
        write_diary("item where is_message"),
        "two workers with the same batch at once left something else than one: table diary",
        DIARY,
    ),
    "rows that are not sorted": Mutant(
        NO_DEADLOCK, edit("order by order_id, n", "order by n"), "(a deadlock)"
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_control_a_rule_with_a_defect_is_found_and_named(server: Server, name: str) -> None:
    """The law that the defect breaks says what happened, and no other defect is in the way."""
    mutant = MUTANTS[name]
    with pytest.raises(LawBrokenError) as broken:
        mutant.law(partial(begin_world, server, mutant.rule, mutant.changes))
    print(f"{name}: {broken.value}\n")  # noqa: T201 - for those who look how it reads
    assert mutant.says in str(broken.value)


def test_control_a_request_that_changes_is_found_and_named(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another body under a key that the receiver knows is a defect of rule.py."""

    def by_chance(message: Message, outcome: str, subscriber: str) -> AuditBody:
        return {**audit_body(message, outcome, subscriber), "fulfillment_id": str(uuid4())}

    with begin() as world:
        records = records_of(SAMPLES)
        unmarked = world.steps()._replace(mark=settle_all)
        world.handle(records, unmarked)
        monkeypatch.setattr("service.post.audit_body", by_chance)
        with pytest.raises(LawBrokenError, match="was sent two bodies about message s-0:"):
            world.handle(records)
    with pytest.raises(LawBrokenError, match=r"requests to the audit receiver: \d+ differ"):
        CRASH(begin)


def test_each_law_has_a_mutant() -> None:
    """No law is asserted that nothing has ever broken."""
    broken = {mutant.law.func for mutant in MUTANTS.values()}
    own = {law for law in vars(laws).values() if getattr(law, "__module__", "") == laws.__name__}
    is_a_law = {law for law in own if "begin" in getattr(law, "__annotations__", {})}
    assert broken == is_a_law
