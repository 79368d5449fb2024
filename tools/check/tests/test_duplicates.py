"""Repeats are counted exactly below a limit, estimated above it, and told by who made them."""

import json
import random
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from pipeline_check.command import app
from pipeline_check.duplicates.count import BY_APPLICATION, BY_CLIENT, OTHER_VALUE, Repeats
from pipeline_check.duplicates.identity import Record, UnknownIdentityError, identity
from pipeline_check.duplicates.report import as_json, as_lines

SEED = 20261123


def record(
    offset: int, order: str, timestamp: int = 0, partition: int = 0, more: str = ""
) -> Record:
    """Return a record with an id in its header, in its value, and as its key."""
    value = json.dumps({"order": {"id": order}, "more": more}).encode()
    headers = [("message_id", order.encode())]
    return Record(partition, offset, timestamp, order.encode(), value, headers)


def counted(records: list[Record], id_text: str = "header:message_id", most: int = 1000) -> Repeats:
    """Count records."""
    repeats = Repeats(identity(id_text), most_ids=most)
    for each in records:
        repeats.add(each)
    return repeats


@pytest.mark.parametrize("id_text", ["header:message_id", "json:$.order.id", "key", "key+value"])
def test_a_repeat_is_found_by_each_kind_of_id(id_text: str) -> None:
    """And a topic without one has none."""
    repeats = counted([record(0, "a"), record(1, "b"), record(2, "a", 5)], id_text)
    assert repeats.total == 1
    assert repeats.examples == [f"0/2 repeats 0/0: {BY_APPLICATION}"]
    assert counted([record(0, "a"), record(1, "b")], id_text).total == 0


@pytest.mark.parametrize(
    ("again", "kind"),
    [
        (record(7, "a", 100), BY_CLIENT),
        (record(7, "a", 101), BY_APPLICATION),
        (record(7, "a", 100, partition=1), BY_APPLICATION),
        (record(7, "a", 100, more="x"), OTHER_VALUE),
    ],
)
def test_who_made_a_repeat(again: Record, kind: str) -> None:
    """A client sends the same bytes to the same partition with the time of the first try."""
    repeats = counted([record(3, "a", 100), again])
    assert dict(repeats.kinds) == {kind: 1}
    assert repeats.longest_distance == (0 if again.partition else 4)


def test_records_without_such_an_id_are_named() -> None:
    """A wrong --id shows at once: nothing has it."""
    repeats = counted([record(0, "a"), record(1, "b")], "header:order_id")
    assert repeats.without_id == 2
    assert "2 records have no such id: 0/0, 0/1" in "\n".join(as_lines("orders", repeats))


def test_above_the_limit_the_number_is_an_estimate_with_its_error() -> None:
    """One in eight of 40,000 orders comes twice; a tenth of the ids is kept."""
    chance = random.Random(SEED)  # noqa: S311 - repeatable, not secret
    repeats = Repeats(identity("key"), most_ids=4_000)
    planted = 0
    for offset, again in enumerate(stream(chance)):
        planted += again is not None
        repeats.add(record(offset, again or f"order-{offset}", offset))
    assert len(repeats.ids) <= 4_000
    assert repeats.level > 2
    assert 0 < repeats.error < planted / 10
    assert abs(repeats.total - planted) < 4 * repeats.error, SEED


def stream(chance: random.Random) -> Iterator[str | None]:
    """Yield nothing for a new order, or the one that comes again."""
    known: list[str] = []
    for offset in range(40_000):
        if known and chance.random() < 1 / 8:
            yield known.pop(chance.randrange(len(known)))
        else:
            known.append(f"order-{offset}")
            yield None


def test_below_the_limit_it_is_exact() -> None:
    """No error, and the word is not about."""
    repeats = counted([record(0, "a"), record(1, "a", 1)])
    assert as_json("orders", repeats)["standard_error"] == 0
    assert "orders: 2 records, 1 repeat an earlier one" in as_lines("orders", repeats)


@pytest.mark.parametrize("text", ["header:", "json:order", "offset", ""])
def test_an_unknown_id_is_refused(text: str) -> None:
    """With what can be said instead."""
    with pytest.raises(UnknownIdentityError, match="say header:NAME"):
        identity(text)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--topic", "orders"], "needs --bootstrap and --topic"),
        (["--bootstrap", "127.0.0.1:1", "--topic", "o", "--id", "x"], "--id x: say header:NAME"),
        (["--bootstrap", "127.0.0.1:1", "--topic", "o", "--since", "soon"], "--since soon: say"),
        (["--bootstrap", "127.0.0.1:1", "--topic", "o"], "Kafka does not answer: "),
    ],
)
def test_what_cannot_be_read_is_one_sentence(
    arguments: list[str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And exit 2."""
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.setattr("pipeline_check.duplicates.read.TIMEOUT", 2)
    done = CliRunner().invoke(app, ["--duplicates", *arguments])
    assert done.exit_code == 2
    assert why in done.output
