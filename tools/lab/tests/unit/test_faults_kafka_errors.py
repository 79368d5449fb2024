"""A broker's answer gets an error where the protocol has one, and nowhere else."""

import struct

import pytest

from lab.faults.kafka_errors import OFFSET_COMMIT, PRODUCE, Request, with_errors
from lab.faults.wire import ChangeAnswer, Pair, Way, split_frames

CODE = 20
METADATA = 3
HERE = b"\x00\x00"  # no error yet


def frame(number: int, body: bytes) -> bytes:
    """Return bytes with their length and the number of the request before them."""
    return struct.pack(">ii", 4 + len(body), number) + body


# As the protocol guide lays them out: https://kafka.apache.org/protocol
PARTITION = b"\x00\x00\x00\x01"
OFFSETS = b"\x00" * 24
OLD_PRODUCED = [
    b"\x00\x00\x00\x01\x00\x03abc\x00\x00\x00\x02",  # one topic, two partitions
    PARTITION,
    HERE,
    OFFSETS,
    PARTITION,
    HERE,
    OFFSETS,
    b"\x00\x00\x00\x00",  # how long to wait
]
PRODUCED = [
    b"\x00\x02\x04abc\x02",  # no tags, one topic, one partition
    PARTITION,
    HERE,
    OFFSETS,
    b"\x02\x00\x00\x00\x07\x03no\x00",  # one record with an error of its own
    b"\x00",  # no message
    b"\x01\x00\x02ab",  # one tagged field
    b"\x00",
    b"\x00\x00\x00\x00\x00",
]
PRODUCED_BY_TOPIC_ID = [b"\x00\x02" + b"i" * 16 + b"\x02", *PRODUCED[1:]]
OLD_COMMITTED = [
    b"\x00\x00\x00\x01\x00\x03abc\x00\x00\x00\x01",
    PARTITION,
    HERE,
]
COMMITTED = [
    b"\x00\x00\x00\x00\x09\x02\x04abc\x03",  # wait, one topic, two partitions
    PARTITION,
    HERE,
    b"\x00",
    PARTITION,
    HERE,
    b"\x00\x00\x00",
]


@pytest.mark.parametrize(
    ("api_key", "version", "pieces"),
    [
        (PRODUCE, 7, OLD_PRODUCED),
        (PRODUCE, 10, PRODUCED),
        (PRODUCE, 13, PRODUCED_BY_TOPIC_ID),
        (OFFSET_COMMIT, 2, OLD_COMMITTED),
        (OFFSET_COMMIT, 9, COMMITTED),
    ],
)
def test_every_partition_gets_the_error(api_key: int, version: int, pieces: list[bytes]) -> None:
    """In every form that the answer has had, and no other byte changes."""
    error = struct.pack(">h", CODE)
    expected = b"".join(error if piece is HERE else piece for piece in pieces)
    request = Request(api_key, version, 5)
    assert with_errors(request, frame(5, b"".join(pieces)), CODE) == frame(5, expected)


def test_a_version_that_nobody_knows_is_refused() -> None:
    """Rather than that bytes change somewhere."""
    with pytest.raises(ValueError, match="version 14: its answer is known up to version 13"):
        with_errors(Request(PRODUCE, 14, 1), frame(1, b""), CODE)


def test_only_wanted_answers_are_changed_and_no_more_than_the_limit() -> None:
    """Frames that come together are told apart; what is incomplete goes on as it is."""
    pair = object.__new__(Pair)
    damage = ChangeAnswer(PRODUCE, CODE, limit=1)
    calls = [(METADATA, 1), (PRODUCE, 2), (PRODUCE, 3)]
    asked = [struct.pack(">ihhi", 8, key, 10, number) for key, number in calls]
    assert list(damage.pass_on(pair, Way.REQUEST, b"".join(asked))) == asked
    produced = b"".join(PRODUCED)
    answers = [frame(1, b"other"), frame(2, produced), frame(3, produced)]
    passed = list(damage.pass_on(pair, Way.ANSWER, b"".join(answers)))
    changed = [one != other for one, other in zip(passed, answers, strict=True)]
    assert changed == [False, True, False]
    assert damage.hits == 1
    assert b"".join(split_frames(answers[1][:9])) == answers[1][:9]
