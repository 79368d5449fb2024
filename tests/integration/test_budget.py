"""What really happens between two polls, counted on a real Postgres."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from ops.stack.stack import Stack
from service.database import connect_to
from service.dedup.tracking import FRESH
from service.handler import Steps, handle, split_conflicts
from service.judge import Judge
from service.mark import Gate, Patience, mark
from service.outage import TooSlowError, in_pieces
from service.post import Answers, Entry
from service.record import Record
from service.refusals import Limits, may_give_up
from service.settings import AUDIT_STEPS, DATABASE_STEPS
from service.write import try_out, write
from tests.builders import record, settle_all, value
from tests.client import counts, fresh
from tests.refusing import DROP_TRIGGER, FOR_ONE, TRIGGER, changed

SUBSCRIBER = "fulfillment"
NO_GATE = Gate(may_give_up=lambda *_: True, tell=lambda _: None)  # every entry is taken


class Meter:
    """Counts connections, statements and requests, and forgets them with each poll."""

    def __init__(self, engine: Engine) -> None:
        self.waits_for = ""
        self.since_poll = Counter[str]()
        self.polls = 0
        self.most = Counter[str]()
        self.engine = engine
        event.listen(engine, "connect", self.count_connection)
        event.listen(engine, "before_cursor_execute", self.count_statement)

    def count_connection(self, *_: object) -> None:
        """Count a connection."""
        self.since_poll["database"] += 1

    def count_statement(self, *_: object) -> None:
        """Count a statement, whatever it is."""
        self.since_poll["database"] += 1

    def poll(self) -> None:
        """Keep the highest counts, and begin again."""
        self.polls += 1
        self.most |= self.since_poll
        self.since_poll.clear()

    def idle(self, _seconds: float) -> None:
        """Wait for no second."""
        self.poll()

    def post(self, entries: Sequence[Entry]) -> Answers:
        """Count a request, which connects first."""
        self.since_poll["audit"] += 2
        return {entry.message.message_id: None for entry in entries}

    def steps(self) -> Steps:
        """Return the steps of the service, with its judge."""
        engine = self.engine
        judge = Judge(
            partial(try_out, engine, SUBSCRIBER, FRESH),
            partial(may_give_up, engine, SUBSCRIBER, Limits(records=10, window_seconds=600)),
            self,
            probe_seconds=0,
        )
        return Steps(
            partial(write, engine, SUBSCRIBER, FRESH),
            self.post,
            partial(mark, engine, SUBSCRIBER, Patience(900, 10), NO_GATE),
            lambda _: None,
            is_to_blame=judge.is_to_blame,
            poll=self.poll,
        )


@pytest.fixture
def meter(engine: Engine) -> Iterator[Meter]:
    """A meter, and no refusal that counts."""
    with changed("truncate refusal", "truncate refusal"):
        yield Meter(engine)


def measure(meter: Meter, records: list[Record]) -> Counter[str]:
    """Handle a batch without a connection, and return the most that happens between two polls."""
    meter.engine.dispose()
    handle(records, meter.steps())
    meter.poll()
    return meter.most


def test_the_budget_is_what_a_batch_can_take(meter: Meter) -> None:
    """A repeat that is not audited and a conflict beside a fresh message take all there is."""
    repeat = fresh("repeat")
    steps = meter.steps()
    handle([record(repeat, value(repeat))], steps._replace(mark=settle_all))
    meter.poll()
    meter.most.clear()
    batch = [
        record(repeat, value(repeat)),
        record(repeat, value(repeat, x=2)),
        record(fresh(), value(fresh())),
        record("bad", b"no order"),
    ]
    assert measure(meter, batch) == {"database": DATABASE_STEPS, "audit": AUDIT_STEPS}


def test_five_hundred_values_under_one_id_stay_within_the_budget(meter: Meter) -> None:
    """They were 999 writes between two polls."""
    message_id = fresh("m")
    most = measure(meter, [record(message_id, value(message_id, x=n)) for n in range(500)])
    assert most["database"] <= DATABASE_STEPS
    assert meter.polls == 1  # which is the one after the batch


def test_a_batch_that_is_refused_stays_within_the_budget(meter: Meter) -> None:
    """However it is taken apart, probed and buried, with conflicts and repeats among the others."""
    prefix = fresh("refused")
    records = [
        record(f"{prefix}-{n % 60}", value(f"{prefix}-{n}", customer_id=f"c-{n % 20}"))
        for n in range(100)
    ]
    change, mend, _ = FOR_ONE["a CHECK"]
    with changed(change, mend):
        most = measure(meter, records)
    assert meter.polls > 20
    assert most["database"] <= DATABASE_STEPS
    assert most["audit"] <= AUDIT_STEPS


SLOW = "perform pg_sleep(0.008);"  # for each row: fifty pass within half a second


def test_a_slow_trigger_ends_in_progress(spoiled: Stack) -> None:
    """Where 50 rows pass in time and 200 do not, all are written; whole, they never would be."""
    env, prefix = spoiled.env(), fresh("slow")
    engine = connect_to(env["DATABASE_URL"], Path(env["DATABASE_PASSWORD_FILE"]), 0.5)
    whole = partial(write, engine, SUBSCRIBER, FRESH)
    ids = [f"{prefix}-{n}" for n in range(200)]
    polls: list[int] = []
    with changed(TRIGGER.format(body=SLOW, when=""), DROP_TRIGGER):
        [part] = split_conflicts([record(one, value(one)) for one in ids])
        with pytest.raises(TooSlowError):
            whole(part)
        assert not counts(ids)["tracking"]
        known = in_pieces(whole, lambda: polls.append(len(polls)))(part)
    engine.dispose()
    assert known.keys() == set(ids)
    assert all(handled.first for handled in known.values())
    assert set(counts(ids)["fulfillment"].values()) == {1}
    assert len(polls) >= 4
