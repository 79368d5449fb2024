"""What waits behind a dead letter: turns of a batch, and records that are kept as they came."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contract.names import INPUT_TOPIC, REPLAY_HEADER
from service.parking import from_row, replay_of, take_turns, to_row
from service.record import Record


def keyed(key: bytes | None, offset: int) -> Record:
    """Return a record of this key."""
    return Record(INPUT_TOPIC, 0, offset, key, b"{}", [])


class Row:
    """A row as a database returns it."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__ |= values


KEYS = st.lists(st.sampled_from([None, b"", b"a", b"b", b"c"]), max_size=30)


@given(KEYS)
def test_a_turn_has_each_key_once_and_turns_keep_the_sequence(keys: list[bytes | None]) -> None:
    """Nothing is left out, and of each key the records come one after the other, as they came."""
    records = [keyed(key, offset) for offset, key in enumerate(keys)]
    turns = take_turns(records)
    flat = [record for turn in turns for record in turn]
    assert sorted(flat, key=lambda record: record.offset) == records
    for turn in turns:
        with_key = [record.key for record in turn if record.key is not None]
        assert len(with_key) == len(set(with_key))
    for key in (b"", b"a", b"b", b"c"):
        of_key = [record.offset for record in flat if record.key == key]
        assert of_key == sorted(of_key)


@given(
    key=st.binary(max_size=50),
    value=st.none() | st.binary(max_size=50),
    headers=st.lists(
        st.tuples(st.text(max_size=10), st.none() | st.binary(max_size=10)), max_size=4
    ),
)
def test_a_parked_record_comes_back_as_it_came(
    key: bytes, value: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    """Key, value and headers are the same bytes, whatever they are; what is stored has no NUL."""
    record = Record(INPUT_TOPIC, 2, 57, key, value, headers)
    row = to_row(record)
    assert "\0" not in row["headers"]
    assert from_row(Row(row)) == record  # type: ignore[arg-type]
    assert json.loads(row["headers"]) is not None


def test_a_replay_is_known_by_its_header_and_nothing_else_is() -> None:
    """One header with a position is a replay; two of them, or anything else, is none."""
    position = f"{INPUT_TOPIC}/0/57".encode()

    def named(*values: bytes) -> str | None:
        headers: list[tuple[str, bytes | None]] = [(REPLAY_HEADER, value) for value in values]
        return replay_of(keyed(b"k", 1)._replace(headers=headers))

    assert named(position) == position.decode()
    assert named() is None
    assert named(position, position) is None
    for wrong in (b"", b"\0", b"x", b"\xff/0/1", b"a/b/c", position + b"\n"):
        assert named(wrong) is None
