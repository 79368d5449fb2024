"""A stack with each dedup store that keeps no row for each message, judged by reconciliation."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.names import INPUT_TOPIC
from ops.stack.stack import Stack
from spark.hops import TRACKING_TO_OUTBOX, input_to_tracking
from tests.builders import value
from tests.client import Sent, connect, fresh, query, send, until_handled
from tests.e2e.test_reconcile import defects_in
from tests.reconciliation import Reconcile, all_matched, hop
from tests.stacks import PORTS, RUN, running, within
from tests.stores import DROPPING, STORES

INPUT = input_to_tracking(INPUT_TOPIC)
OTHERS = [name for name in STORES if name != "tracking"]
ORDERS = 30

COPY = """
    insert into outbox (
        event_id, aggregate_type, aggregate_id, event_type, traceparent, payload
    )
    select gen_random_uuid(), aggregate_type, aggregate_id, event_type, traceparent, payload
    from outbox
    where payload->>'message_id' = %s and aggregate_type = 'fulfillment'
"""


@pytest.fixture(params=OTHERS)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """A stack whose service has this dedup store, with its addresses in the environment."""
    name = str(request.param)
    started = frozenset({name}) & {"dynamodb"}
    monkeypatch.setenv("DEDUP_STORE", name)
    with running(f"{RUN}-{name}", PORTS + 300, started) as stack:
        yield within(stack, monkeypatch)


def numbered(message_id: str, order_id: str, number: int) -> Sent:
    """An order with its number among the others; all have one key, and so one partition."""
    return Sent(message_id, "key", value(order_id), [("sequence", str(number))])


@pytest.mark.prove
def test_a_run_of_each_store_is_good_and_defects_are_found(
    store: Stack, reconcile: Reconcile
) -> None:
    """Orders, repeats, a rejection and one out of sequence are matched.

    Then one message is taken out of every table and another gets a second event: both are named.
    """
    ids = [fresh("m") for _ in range(ORDERS)]
    records = [numbered(one, one, number) for number, one in enumerate(ids, 100)]
    second = numbered(fresh("second"), ids[0], 100 + ORDERS)
    late = numbered(fresh("late"), ids[1], 50)
    send([*records, records[3], second, records[4], late, late])
    until_handled()

    good = all_matched(reconcile())
    assert hop(good, INPUT)["in"] == ORDERS + 5
    dropped = query("select distinct message_id from dropped")
    is_dropping = store.settings.dedup_store in DROPPING
    assert dropped == ([(late.message_id,)] if is_dropping else [])

    lost, doubled = ids[7], ids[8]
    with connect("fulfillment", "postgres") as admin:
        admin.execute("delete from fulfillment where message_id = %s", [lost])
        admin.execute("delete from outbox where payload->>'message_id' = %s", [lost])
        admin.execute(COPY.encode(), [doubled])
    found = defects_in(Path(store.env()["DELTA_ROOT"]), reconcile())
    assert (TRACKING_TO_OUTBOX, "duplicate", doubled) in found
    missing = [id_ for hop_, outcome, id_ in found if (hop_, outcome) == (INPUT, "missing")]
    assert len(missing) == 1
