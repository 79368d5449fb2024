"""Events, settings and commands of the outbox on DynamoDB, without a server."""

import os
import re
import subprocess
import sys
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, Producer

from contract.extras import manifests
from extras.dynamodb.outbox.event import buried, from_item, tallied, to_item
from extras.dynamodb.outbox.publish import Publisher
from extras.dynamodb.outbox.settings import Settings
from extras.dynamodb.outbox.shards import START, Lease, LostRecordsError
from extras.dynamodb.outbox.stream import Stream
from extras.dynamodb.outbox.transaction import find_source
from ops.settings import ROOT
from service.ids import derive
from service.outage import OutageError
from service.record import DeadLetter, Message, Record, read
from tests.builders import record

MODULES = (
    "extras.dynamodb.outbox",
    "extras.dynamodb.outbox.relay",
    "extras.dynamodb.outbox.tables",
)


def message(message_id: str = "m-1") -> Message:
    """Return a good message."""
    item = read(record(message_id))
    assert isinstance(item, Message)
    return item


def test_an_event_follows_from_its_message_alone() -> None:
    """The same message at another offset has the same event, byte for byte."""
    first, again = (tallied(message(), "t") for _ in range(2))
    assert first == again
    assert first != tallied(message("m-2"), "t")


def test_its_ids_are_those_of_no_other_subscriber() -> None:
    """Both publish an event of the same message, and nobody takes one for the other."""
    assert tallied(message(), "t").event_id != derive("event", "m-1")


def test_an_event_is_the_same_behind_the_outbox() -> None:
    """What the item holds beside it is when it expires."""
    event = tallied(message(), "t")
    assert from_item(to_item(event, 7)) == event


def test_an_event_of_an_earlier_version_has_no_state() -> None:
    """Its item lacks what later ones have; the header is there for those alone that have one."""
    item = to_item(tallied(message(), "t"), 7)
    del item["tracestate"]
    event = from_item(item)
    assert "tracestate" not in dict(event.headers())
    with_state = event._replace(tracestate="a=1")
    assert dict(with_state.headers())["tracestate"] == b"a=1"


def test_a_dead_letter_has_one_event_for_each_position() -> None:
    """Buried twice it is one event; another record has another."""
    first, other = record("m-1", b"{"), record("m-1", b"{")
    events = [buried(DeadLetter(each, "invalid", "why"), "t") for each in (first, first, other)]
    assert events[0] == events[1]
    assert events[0].event_id != events[2].event_id


@pytest.mark.parametrize(
    ("given", "source"),
    [
        ([], ""),
        ([b"shop"], "shop"),
        (["b\u00f6rse".encode()], "b\u00f6rse"),
        ([b""], None),
        ([b"a", b"b"], None),
        ([b"\xff"], None),
        ([b"x" * 65], None),
    ],
)
def test_a_source_is_named_well_or_not_at_all(given: list[bytes], source: str | None) -> None:
    """Two names, none of any length and bytes that are no text are refused."""
    each: Record = record(headers=[("source", value) for value in given])
    assert find_source(each) == source


class Trimmed:
    """A stream whose records are gone, for an iterator that was kept or for any."""

    class exceptions:  # noqa: N801 - as boto3 has it
        """What it may raise."""

        class ExpiredIteratorException(Exception):  # noqa: N818 - AWS's name
            """It was kept for more than a quarter of an hour."""

        class TrimmedDataAccessException(Exception):  # noqa: N818 - AWS's name
            """The records behind it are more than a day old."""

        class ResourceNotFoundException(Exception):  # noqa: N818 - AWS's name
            """The shard is not there any more."""

    def __init__(self, bad: dict[str, str]) -> None:
        self.bad = bad

    def get_shard_iterator(self, **_: Any) -> dict[str, str]:
        """Return a new iterator."""
        return {"ShardIterator": "new"}

    def get_records(self, ShardIterator: str, **_: Any) -> dict[str, Any]:  # noqa: N803
        """Return an empty page, unless the iterator is bad."""
        if ShardIterator in self.bad:
            raise getattr(self.exceptions, self.bad[ShardIterator])
        return {"Records": [], "NextShardIterator": "next"}


EXPIRED, TRIMMED = "ExpiredIteratorException", "TrimmedDataAccessException"
GONE = "ResourceNotFoundException"


def read_kept(bad: dict[str, str]) -> object:
    """Read a shard with an iterator that was kept."""
    lease = Lease("a", "us", 1, 1000, START, is_done=False)
    stream = Stream(Trimmed(bad), "arn", 100, {("a", START): "kept"})
    return stream.read(lease).next_iterator


@pytest.mark.parametrize("error", [EXPIRED, TRIMMED])
def test_an_iterator_that_was_kept_for_too_long_is_asked_for_again(error: str) -> None:
    """What a new one leads to is the truth."""
    assert read_kept({"kept": error}) == "next"


@pytest.mark.parametrize("error", [TRIMMED, GONE])
def test_records_that_are_behind_no_iterator_are_lost(error: str) -> None:
    """A new one from the checkpoint on has no more, so somebody must know."""
    with pytest.raises(LostRecordsError):
        read_kept({"kept": TRIMMED, "new": error})


def test_its_topics_are_in_the_manifest() -> None:
    """`python -m connect topics` makes those that the settings name."""
    settings = Settings()
    made = manifests("topics")["dynamodb"]
    assert made.keys() == {settings.tally_topic, settings.tally_dead_letter_topic}


def run(module: str, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a command."""
    return subprocess.run(
        [sys.executable, "-m", module, *words],
        env={**os.environ, "AWS_DEFAULT_REGION": "eu-central-1", **environment},
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=60,
    )


@pytest.mark.parametrize("module", MODULES)
def test_a_command_says_what_it_does(module: str) -> None:
    """`--help` answers and starts nothing."""
    found = run(module, "--help")
    assert found.returncode == 0
    assert found.stdout.startswith(f"usage: python -m {module}")


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(
    ("setting", "value"),
    [("DYNAMODB_DEDUP", "both"), ("RELAY_LEASE_SECONDS", "0"), ("MAX_POLL_INTERVAL_MS", "1")],
)
def test_a_bad_setting_is_refused_before_anything_starts(
    module: str, setting: str, value: str
) -> None:
    """One sentence with the setting and its value, exit code 2, no traceback."""
    found = run(module, **{setting: value})
    assert found.returncode == 2
    [sentence] = found.stderr.splitlines()
    assert f"{setting}={value}" in sentence


def test_without_boto3_a_command_says_what_to_install() -> None:
    """It is no part of the service's image."""
    code = "import sys; sys.modules['boto3'] = None; import extras.dynamodb.outbox.relay"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert found.returncode == 2
    assert found.stderr.startswith("extras.dynamodb.outbox: ")
    assert "pip install '.[dynamodb]'" in found.stderr


def test_the_image_installs_what_the_lock_says() -> None:
    """Every package of the extra's lock is in the whole lock, in the same version."""
    pins = re.compile(r"^([\w-]+==\S+)", re.MULTILINE)
    whole = set(pins.findall((ROOT / "requirements.lock").read_text()))
    own = set(pins.findall((ROOT / "extras" / "dynamodb" / "requirements.lock").read_text()))
    assert any(pin.startswith("boto3==") for pin in own)
    assert own <= whole


class Lost:
    """A producer that delivers nothing."""

    def __init__(self) -> None:
        self.notes: list[Any] = []

    def produce(self, *_words: Any, on_delivery: Any, **_more: Any) -> None:
        """Take an event."""
        self.notes.append(on_delivery)

    def poll(self, _seconds: float) -> None:
        """Do nothing."""

    def flush(self, _seconds: float) -> int:
        """Give up what was taken."""
        for note in self.notes:
            note(KafkaError(KafkaError._MSG_TIMED_OUT), None)
        return 0


class Working(Lost):
    """A producer that delivers everything."""

    def flush(self, _seconds: float) -> int:
        """Deliver what was taken."""
        for note in self.notes:
            note(None, None)
        return 0


def test_a_producer_that_delivers_nothing_is_replaced() -> None:
    """One that was told of no brokers may never find one again; one that works is kept."""
    producers = [Lost(), Working()]
    left = iter(producers)
    publisher = Publisher(lambda: cast("Producer", next(left)), 0)
    event = tallied(message(), "t")
    with pytest.raises(OutageError, match="1 events were not taken"):
        publisher.publish([event])
    publisher.publish([event])
    publisher.publish([event])
    assert [len(producer.notes) for producer in producers] == [1, 2]
