"""The story of a batch, with steps that remember."""

from collections.abc import Callable, Sequence

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from access.collector import Collector, Span
from contract.audit import AuditBody
from contract.events import ACCEPTED, REJECTED
from contract.names import SUBSCRIBER
from service.dedup import Handled
from service.handler import Steps, handle
from service.ids import derive, span_id_of
from service.outage import OutageError, RefusedError, Retry
from service.post import Answers, Entry, make_item
from service.record import DeadLetter, Headers, Item, Message, Record, read
from service.spans import Spans
from tests.builders import record, value


class FakeServices:
    """A database, a receiver and a group, as dictionaries, and the calls that they were given."""

    def __init__(self, refused: str = "", rejected: Sequence[str] = ()) -> None:
        self.tracking: dict[str, Handled] = {}
        self.letters: list[DeadLetter] = []
        self.audit: dict[str, AuditBody] = {}
        self.traces: dict[str, str | None] = {}  # of entries, by message id
        self.calls: list[str] = []
        self.refused = refused  # the id of a message that the database never takes
        self.rejected = rejected  # the ids of messages that the rule does not accept

    def write(self, items: Sequence[Item]) -> dict[str, Handled]:
        """Insert first, ask never."""
        messages = [item for item in items if isinstance(item, Message)]
        if self.refused in [message.message_id for message in messages]:
            raise RefusedError("refused by the database: 23514")
        self.calls.append("write")
        self.letters += [item for item in items if isinstance(item, DeadLetter)]
        known = {}
        for message in messages:
            message_id = message.message_id
            outcome = REJECTED if message_id in self.rejected else ACCEPTED
            fresh = Handled(message.value_sha256, outcome, audited=False, first=True)
            known[message_id] = self.tracking.get(message_id, fresh)
            self.tracking.setdefault(message_id, fresh._replace(first=False))
        return known

    def post(self, entries: Sequence[Entry]) -> Answers:
        """Have one effect for each key."""
        self.calls.append("post")
        for item in map(make_item, entries):
            self.audit[item.idempotency_key] = item.body
            self.traces[item.message_id] = item.trace.parent if item.trace else None
        return {entry.message.message_id: None for entry in entries}

    def mark(self, answers: Answers) -> Answers:
        """Remember who was audited: all of them are settled."""
        self.calls.append("mark")
        self.tracking |= {key: self.tracking[key]._replace(audited=True) for key in answers}
        return answers

    def commit(self, _records: Sequence[Record]) -> None:
        """Forget the batch."""
        self.calls.append("commit")

    def steps(self) -> Steps:
        """Return the four steps of these services."""
        return Steps(self.write, self.post, self.mark, self.commit)


def test_the_steps_come_in_their_sequence() -> None:
    """Commit, POST, mark, offsets: any other sequence can lose or double something."""
    services = FakeServices()
    handle([record("m-1"), record("m-2")], services.steps())
    assert services.calls == ["write", "post", "mark", "commit"]


def test_an_audited_redelivery_is_bypassed() -> None:
    """A redelivery whose audit is marked is neither posted nor marked again."""
    services = FakeServices()
    handle([record("m-1")], services.steps())
    services.calls.clear()
    handle([record("m-1")], services.steps())
    assert services.calls == ["write", "commit"]


def test_an_unmarked_redelivery_posts_the_same_again() -> None:
    """After a crash before the mark the same key and body are posted once more."""
    services = FakeServices()
    handle(
        [record("m-1")], Steps(services.write, services.post, lambda _: {"m-1"}, services.commit)
    )
    before = dict(services.audit)
    handle([record("m-1")], services.steps())
    assert services.audit == before
    assert services.calls.count("post") == 2


def test_another_value_under_a_known_id_is_a_conflict() -> None:
    """In one batch or in two, the second value is a dead letter, and never a second message."""
    services = FakeServices()
    handle([record("m-1"), record("m-1", value(x=2))], services.steps())
    handle([record("m-1", value(x=3))], services.steps())
    assert [letter.kind for letter in services.letters] == ["conflict", "conflict"]
    assert len(services.audit) == 1


def test_a_conflict_does_not_hide_a_redelivery_in_the_same_batch() -> None:
    """A redelivery beside another value of its id is recognized whichever comes first."""
    services = FakeServices()
    handle([record("m-1")], services.steps())
    handle([record("m-1", value(x=2)), record("m-1")], services.steps())
    assert [letter.record.value for letter in services.letters] == [value(x=2)]


def test_a_message_that_the_database_refuses_is_buried_alone() -> None:
    """One refused message becomes a dead letter; the other hundred are fulfilled."""
    services = FakeServices(refused="m-50")
    handle([record(f"m-{n}") for n in range(101)], services.steps())
    assert [letter.record.headers for letter in services.letters] == [[("message_id", b"m-50")]]
    assert len(services.audit) == 100
    assert services.calls[-1] == "commit"


def test_many_values_under_one_id_cost_two_writes() -> None:
    """What the first value has settled needs no write of its own: all conflicts are one more."""
    services = FakeServices()
    handle([record("m-1", value(x=n)) for n in range(500)], services.steps())
    assert services.calls == ["write", "write", "post", "mark", "commit"]
    assert len(services.letters) == 499


def test_a_redelivery_among_many_values_is_found_wherever_it_is() -> None:
    """Of all values under one id, only the one that was handled before is no conflict."""
    services = FakeServices()
    handle([record("m-1", value(x=7))], services.steps())
    duplicates = counted("messages_total", outcome="duplicate")
    handle([record("m-1", value(x=n)) for n in range(10)], services.steps())
    assert len(services.letters) == 9
    assert value(x=7) not in [letter.record.value for letter in services.letters]
    assert counted("messages_total", outcome="duplicate") == duplicates + 1


def test_values_under_an_id_that_nobody_keeps_are_tried_one_after_the_other() -> None:
    """A message that its store drops settles nothing for the next: the group is polled between."""
    services = FakeServices()
    calls = services.calls

    def drop(items: Sequence[Item]) -> dict[str, Handled]:
        calls.append("write")
        return {}

    steps = services.steps()._replace(write=drop, poll=lambda: calls.append("poll"))
    handle([record("m-1", value(x=n)) for n in range(3)], steps)
    assert calls == ["write", "poll", "write", "poll", "write", "commit"]


def test_a_refused_message_that_is_not_to_blame_is_repeated_until_it_passes() -> None:
    """The others of its batch wait with it, and nothing is buried."""
    services = FakeServices(refused="m-1")

    def wait(item: Item, refusal: RefusedError) -> bool:
        assert item.record == first
        assert str(refusal) == "refused by the database: 23514"
        services.calls.append("wait")
        if services.calls.count("wait") == 3:
            services.refused = ""
        return False

    first, second = record("m-1"), record("m-2")
    handle([first, second], services.steps()._replace(is_to_blame=wait))
    assert services.calls == [*["wait"] * 3, "write", "write", "post", "mark", "commit"]
    assert not services.letters
    assert len(services.audit) == 2


def test_a_dead_letter_that_is_refused_is_repeated_too() -> None:
    """It fits its table whatever is in it, so nothing but the database can be to blame."""
    services = FakeServices()
    refusals = [RefusedError("refused by the database: 42501", "42501")] * 3

    def write(items: Sequence[Item]) -> dict[str, Handled]:
        if refusals:
            raise refusals.pop()
        return services.write(items)

    def is_to_blame(item: Item, _refusal: RefusedError) -> bool:
        return isinstance(item, Message)

    steps = services.steps()._replace(write=write, is_to_blame=is_to_blame)
    handle([record("m-1", b"no order")], steps)
    assert [letter.record.value for letter in services.letters] == [b"no order"]
    assert not refusals


def test_a_rejected_message_is_audited_counted_and_logged_as_one() -> None:
    """A rule may say no: the audit is sent that outcome and nothing of a fulfillment."""
    services = FakeServices(rejected=["m-2"])
    rejected = counted("messages_total", outcome=REJECTED)
    with capture_logs() as logged:
        handle([record("m-1"), record("m-2")], services.steps())
        handle([record("m-2")], services.steps())
    bodies = {body["message_id"]: body for body in services.audit.values()}
    assert bodies["m-1"]["outcome"] == ACCEPTED
    assert bodies["m-2"]["outcome"] == REJECTED
    assert bodies["m-2"]["fulfillment_id"] is None
    assert counted("messages_total", outcome=REJECTED) == rejected + 1
    assert [(line["event"], line["message_id"]) for line in logged] == [(REJECTED, "m-2")]


def test_a_message_whose_event_was_deleted_is_not_audited_again() -> None:
    """Nobody knows its outcome any more, because it was settled long ago."""
    services = FakeServices()
    handle([record("m-1")], services.steps())
    services.calls.clear()
    found = services.tracking["m-1"]._replace(outcome=None, audited=False)
    services.tracking["m-1"] = found
    handle([record("m-1")], services.steps())
    assert services.calls == ["write", "commit"]


def counted(name: str, **labels: str) -> float:
    """Return what a counter says."""
    return REGISTRY.get_sample_value(name, labels) or 0


def test_a_message_that_the_database_refuses_is_reported() -> None:
    """It is counted and logged as the dead letter that it became, and as nothing else."""
    letters, dropped = (
        counted("dead_letters_total", kind="invalid"),
        counted("messages_total", outcome="dropped"),
    )
    with capture_logs() as logged:
        handle([record("m-1"), refused := record("m-2")], FakeServices(refused="m-2").steps())
    assert counted("dead_letters_total", kind="invalid") == letters + 1
    assert counted("messages_total", outcome="dropped") == dropped
    assert [(line["event"], line["offset"]) for line in logged] == [("dead_letter", refused.offset)]


def test_a_message_that_its_dedup_store_drops_is_reported() -> None:
    """Neither fresh nor known, because it came too late: nobody is left to wonder where it went."""
    services = FakeServices()
    dropped = counted("messages_total", outcome="dropped")
    with capture_logs() as logged:
        handle([record("m-1")], Steps(lambda _: {}, services.post, services.mark, services.commit))
    assert counted("messages_total", outcome="dropped") == dropped + 1
    assert [(line["event"], line["message_id"]) for line in logged] == [("dropped", "m-1")]
    assert services.calls == ["commit"]


def test_an_entry_that_has_to_wait_holds_up_its_batch_alone() -> None:
    """What is settled is marked at once; the rest is posted again, alone, before the offsets."""
    services, waits = FakeServices(), list[int]()
    refusals = {"m-3": 3, "m-5": 1}  # how often each has to wait
    posted: list[list[str]] = []

    def post(entries: Sequence[Entry]) -> Answers:
        posted.append([entry.message.message_id for entry in entries])
        return services.post(entries)

    def mark(answers: Answers) -> set[str]:
        waiting = {key for key in answers if refusals.get(key, 0) > 0}
        for key in waiting:
            refusals[key] -= 1
        settled = answers.keys() - waiting
        services.mark({key: answers[key] for key in settled})
        return settled

    steps = services.steps()._replace(
        post=post, mark=mark, wait=lambda _stage, attempt, _outage: waits.append(attempt)
    )
    handle([record(f"m-{n}") for n in range(8)], steps)
    assert posted[1:] == [["m-3", "m-5"], ["m-3"], ["m-3"]]
    assert waits == [0, 0, 0]
    assert all(known.audited for known in services.tracking.values())
    assert services.calls[-1] == "commit"


@pytest.mark.parametrize("step", ["write", "post", "mark", "commit"])
def test_an_outage_is_waited_out_at_every_step(step: str) -> None:
    """A step that fails three times and then works leaves one effect, and no dead letter."""
    services, waits = FakeServices(), list[float]()
    retry = Retry(waits.append, first_seconds=0.1, cap_seconds=5)
    failures = [OutageError("down")] * 3

    def failing(real: Callable[..., object]) -> Callable[..., object]:
        def flaky(*given: object) -> object:
            if failures:
                raise failures.pop()
            return real(*given)

        return retry.wrap(step, flaky)

    steps = {name: getattr(services, name) for name in ("write", "post", "mark", "commit")}
    handle([record("m-1")], Steps(**steps | {step: failing(steps[step])}))
    assert services.calls == ["write", "post", "mark", "commit"]
    assert not services.letters
    assert len(waits) == 3


def test_the_other_side_says_when_to_come_back() -> None:
    """Retry-After counts before our own back-off, up to a minute."""
    waits: list[float] = []
    retry = Retry(waits.append, first_seconds=0.1, cap_seconds=5)
    for attempt, outage in enumerate(
        [OutageError("429", 7.0), OutageError("429", 7000.0), OutageError("503")]
    ):
        retry.wait("post", attempt, outage)
    assert waits[:2] == [7.0, 60.0]
    assert waits[2] <= 0.4


def test_a_receiver_that_asks_for_no_wait_is_not_asked_at_once() -> None:
    """Retry-After: 0 does not take our own back-off away: without a wait nobody would poll."""
    waits: list[float] = []
    Retry(waits.append, first_seconds=0.1, cap_seconds=5).wait("post", 0, OutageError("503", 0))
    assert waits[0] >= 0.05


PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SAMPLED: Headers = [("traceparent", PARENT.encode())]
UNSAMPLED: Headers = [("traceparent", f"{PARENT[:-2]}00".encode())]


def handle_traced(services: FakeServices, records: Sequence[Record]) -> list[Span]:
    """Handle a batch as a service with a collector does; return the spans that it hands in."""
    collector = Collector(lambda _spans: True, lambda _count: None)
    spans = Spans(collector, SUBSCRIBER)
    handle(records, services.steps()._replace(read=spans.wrap(read), trace=spans.report))
    return list(collector.waiting)


def test_a_sampled_message_is_a_span_that_its_entry_comes_of() -> None:
    """Its parent is the producer's span; what nobody has sampled goes on as it is, and is none."""
    services = FakeServices()
    records = [record("m-1", headers=SAMPLED), record("m-2", headers=UNSAMPLED), record("m-3")]
    [span] = handle_traced(services, records)
    assert (span.trace_id, span.parent_id) == (PARENT[3:35], PARENT[36:52])
    assert span.span_id == span_id_of(derive("event", "m-1"))
    assert 0 < span.begun <= span.ended
    assert span.attributes["outcome"] == ACCEPTED
    within = f"{PARENT[:36]}{span.span_id}-01"
    assert services.traces == {"m-1": within, "m-2": f"{PARENT[:-2]}00", "m-3": None}


def test_a_message_that_is_handled_again_after_a_crash_is_the_same_span() -> None:
    """And one that comes again when all is done is none."""
    services = FakeServices()
    message = record("m-1", headers=SAMPLED)
    [first] = handle_traced(services, [message])
    services.tracking["m-1"] = services.tracking["m-1"]._replace(audited=False)
    [again] = handle_traced(services, [message])
    assert again.span_id == first.span_id
    assert handle_traced(services, [message]) == []


def test_a_sampled_dead_letter_is_a_span_with_its_kind() -> None:
    """A conflict too: it is no effect of the message whose id it has."""
    services = FakeServices()
    good = record("m-1", headers=SAMPLED)
    conflict = record("m-1", value(x=2), headers=SAMPLED)
    invalid = record("m-2", b"{", headers=SAMPLED)
    spans = handle_traced(services, [good, conflict, invalid])
    kinds = [span.attributes.get("error.type") for span in spans]
    assert sorted(map(str, kinds)) == ["None", "conflict", "invalid"]
    assert {span.parent_id for span in spans} == {PARENT[36:52]}
    assert len({span.span_id for span in spans}) == 3
