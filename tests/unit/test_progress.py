"""How far each partition is handled, what /readyz and /livez say, and whether the group has us."""

import math
import threading
import time
from concurrent.futures import Future
from types import ModuleType
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from access.kafka_admin import Admin, wait_for
from service import health, progress, watch
from service.consumer import RecordConsumer
from service.health import Health
from service.progress import Offsets, Progress, log_change
from service.settings import Settings
from service.watch import Membership
from tests.builders import Clock

OURS = "rdkafka-1"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the service."""
    own = Clock()
    monkeypatch.setattr(progress, "time", own)
    monkeypatch.setattr(health, "time", own)
    monkeypatch.setattr(watch, "time", own)
    monkeypatch.setattr(health, "is_reachable", lambda _engine: True)
    return own


def ends(**by_partition: int) -> Any:
    """Return a broker whose partitions end there."""
    found = {int(name[1:]): end for name, end in by_partition.items()}
    return lambda numbers: {number: found[number] for number in numbers}


def no_broker(_numbers: list[int]) -> Offsets:
    """Fail as the client does when no broker answers."""
    raise KafkaException


def lag(number: int) -> float | None:
    """Return what the gauge says."""
    return REGISTRY.get_sample_value("lag_records", {"partition": str(number)})


def test_the_lag_is_counted_from_what_was_handled(clock: Clock) -> None:
    """What was read and waits for an outage to end is not handled, and so it is in the lag."""
    known = Progress()
    known.move(0, 10)
    known.measure(ends(p0=25))
    assert lag(0) == 15
    known.move(0, 25)
    known.measure(ends(p0=25))
    assert lag(0) == 0
    known.drop(0)
    assert lag(0) is None


def test_without_a_broker_the_lag_is_not_a_number(clock: Clock) -> None:
    """An old number would look like a lag that does not grow."""
    known = Progress()
    known.move(0, 10)
    known.measure(ends(p0=25))
    known.measure(no_broker)
    assert math.isnan(lag(0) or 0)
    assert not known.broker_answers
    known.measure(ends(p0=26))
    assert (lag(0), known.broker_answers) == (16, True)


def test_a_partition_that_is_taken_away_while_it_is_measured_has_no_lag(clock: Clock) -> None:
    """Another worker measures it from now on: two would be added up."""
    known = Progress()
    known.move(3, 10)

    def take_away(numbers: list[int]) -> Offsets:
        known.drop(3)
        return dict.fromkeys(numbers, 20)

    known.measure(take_away)
    assert lag(3) is None
    assert known.stuck("t", -1) == ""


def test_a_partition_is_stuck_while_records_wait_and_none_is_handled(clock: Clock) -> None:
    """Neither a partition without records nor one that moves is; the time counts from the first."""
    known = Progress()
    known.move(0, 10)
    known.move(1, 5)
    for _ in range(10):
        clock.now += 10
        known.measure(ends(p0=10, p1=99))
    assert known.stuck("t", 60) == "t/1: 94 records wait, none handled for 100 s"
    known.move(1, 6)
    assert known.stuck("t", 60) == ""
    clock.now += 50
    known.measure(ends(p0=10, p1=99))
    clock.now += 20
    assert known.stuck("t", 60) == "t/1: 93 records wait, none handled for 70 s"


def test_a_partition_that_gets_stuck_is_logged_once_and_so_is_its_end() -> None:
    """A measure every two seconds must not fill the log."""
    is_stuck = False
    with capture_logs() as lines:
        for sentence in ("", "t/1: 3 records wait", "t/1: 4 records wait", "", ""):
            is_stuck = log_change(is_stuck, sentence)
    assert lines == [
        {"event": "stuck", "log_level": "warning", "what": "t/1: 3 records wait"},
        {"event": "moving_again", "log_level": "info"},
    ]


def answers(consumer: Any, path: str, **changed: float) -> tuple[int, str]:
    """Return what the pages say of such a consumer."""
    settings = Settings(**changed)  # type: ignore[arg-type]
    of = Health(settings, cast("Any", None), cast("RecordConsumer", consumer), ModuleType("store"))
    return of.answer(path)


class Polling:
    """A consumer that has polled just now."""

    def __init__(self, clock: Clock) -> None:
        self.last_poll = clock.now
        self.idling = False
        self.waits_for = ""
        self.progress = Progress()


def test_readyz_and_livez_tell_a_stuck_partition(clock: Clock) -> None:
    """The loop polls and nothing comes of it: not ready after a minute, then to be restarted.

    In an outage a restart would not help: the loop waits for it, or the broker does not answer.
    """
    consumer = Polling(clock)
    consumer.progress.move(0, 1)
    clock.now += 61
    consumer.last_poll = clock.now
    consumer.progress.measure(ends(p0=9))
    said = "input/0: 8 records wait, none handled for 61 s\n"
    settings: Any = {"input_topic": "input"}
    assert answers(consumer, "/readyz", **settings) == (503, said)
    assert answers(consumer, "/livez", **settings) == (200, "ok\n")

    clock.now += 240
    consumer.last_poll = clock.now
    status, text = answers(consumer, "/livez", **settings)
    assert (status, text) == (503, "input/0: 8 records wait, none handled for 301 s\n")
    consumer.idling = True
    assert answers(consumer, "/livez", **settings) == (200, "ok\n")
    consumer.idling = False
    consumer.progress.measure(no_broker)
    assert answers(consumer, "/livez", **settings) == (200, "ok\n")
    assert answers(consumer, "/readyz", **settings) == (503, "the broker does not answer\n")


def test_a_loop_that_does_not_poll_is_told_first(clock: Clock) -> None:
    """It may hang in a call, and then it is neither ready nor alive."""
    consumer = Polling(clock)
    clock.now += 16
    assert answers(consumer, "/readyz") == (503, "the last poll was 16 seconds ago\n")
    clock.now += 300
    assert answers(consumer, "/livez") == (503, "the last poll was 316 seconds ago\n")


class Group:
    """A group as its broker knows it, and what we take for our id."""

    def __init__(self) -> None:
        self.members = {OURS, "rdkafka-2"}
        self.our_id: str | None = OURS
        self.answers = True

    def find_members(self) -> set[str]:
        """Return the members, if the broker answers."""
        if not self.answers:
            raise KafkaException
        return self.members


def look(group: Group, clock: Clock, *, before: int) -> float:
    """Return for how long we are out after looks that were good, and one a second for ten."""
    ours = Membership(lambda: group.our_id, group.find_members)
    for _ in range(before):
        ours.seconds_out()
    seconds = 0.0
    for _ in range(10):
        clock.now += 1
        seconds = ours.seconds_out()
    return seconds


def test_a_member_is_never_out(clock: Clock) -> None:
    """With or without a partition."""
    assert look(Group(), clock, before=1) == 0


@pytest.mark.parametrize("our_id", ["", "rdkafka-0"], ids=["forgotten", "another"])
def test_whoever_the_group_does_not_have_is_out(clock: Clock, our_id: str) -> None:
    """It counts from the last look at which we were in, or from the start."""
    group = Group()
    group.our_id = our_id
    assert look(group, clock, before=1) == 10


def test_nobody_is_out_while_the_broker_does_not_answer(clock: Clock) -> None:
    """An outage is no reason to start anew: the time counts from its end."""
    group = Group()
    group.our_id = ""
    ours = Membership(lambda: group.our_id, group.find_members)
    clock.now += 100
    group.answers = False
    assert ours.seconds_out() == 0
    group.answers = True
    clock.now += 3
    assert ours.seconds_out() == 3


def test_whoever_has_a_partition_is_not_looked_for(clock: Clock) -> None:
    """The client itself notices when the group has gone on without it."""
    group = Group()
    group.our_id = None
    group.members = set()
    assert look(group, clock, before=1) == 0


def test_a_client_that_failed_is_not_asked_again() -> None:
    """The next question goes to a new one: the old one may have lost every broker."""
    made: list[str] = []

    def make(servers: str) -> AdminClient:
        made.append(servers)
        return cast("AdminClient", f"client {len(made)}")

    def fail(_client: AdminClient) -> Any:
        raise KafkaException

    admin = Admin("here:9092", make)
    assert [admin.ask(str), admin.ask(str)] == ["client 1", "client 1"]
    with pytest.raises(KafkaException):
        admin.ask(fail)
    assert (admin.ask(str), made) == ("client 2", ["here:9092", "here:9092"])


def test_a_client_that_answers_is_kept() -> None:
    """A real one is false as long as it waits for nothing: its length is how much it waits for."""
    admin = Admin("127.0.0.1:1")
    assert admin.ask(itself) is admin.ask(itself)


def itself(client: AdminClient) -> AdminClient:
    """A question whose answer is who was asked."""
    return client


class HangingClient:
    """One whose threads do not end before they may."""

    def __init__(self, may_close: threading.Event) -> None:
        self.may_close = may_close

    def __del__(self) -> None:
        self.may_close.wait(10)


def test_nobody_waits_for_a_client_that_is_closed() -> None:
    """Its threads may wait until a time of the wall clock, which somebody has set back by hours."""
    may_close = threading.Event()

    def fail(_client: AdminClient) -> Any:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    admin = Admin("here:9092", lambda _servers: cast("AdminClient", HangingClient(may_close)))
    started = time.monotonic()
    with pytest.raises(KafkaException, match="Timed out"):
        admin.ask(fail)
    assert time.monotonic() - started < 5
    assert any(thread.name == "close" for thread in threading.enumerate())
    may_close.set()


def test_an_answer_that_never_comes_is_an_error() -> None:
    """A client without any broker forgets the timeouts of its requests."""
    never: Future[str] = Future()
    with pytest.raises(KafkaException, match="Timed out"):
        wait_for(never, 0.01)
