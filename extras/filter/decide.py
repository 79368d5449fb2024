"""What passes: a number above the highest that has passed in its partition. No Kafka here."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from service.record import Record

NUMBER = re.compile(rb"[0-9]{1,18}")
SHOWN = 40  # bytes of what is no number

Marks = Mapping[int, int]  # the highest number that has passed, by partition
Number = int | str  # or what is wrong with it
Read = Callable[[Record], Number]


class Letter(NamedTuple):
    """A record without a number, and what is there instead."""

    record: Record
    reason: str


class Raised(NamedTuple):
    """The number that a partition has reached, and the record that has it."""

    number: int
    record: Record


class Decision(NamedTuple):
    """What becomes of a batch."""

    passed: list[Record]
    letters: list[Letter]
    dropped: int
    raised: dict[int, Raised]  # by partition

    def marks(self) -> dict[int, int]:
        """Return the marks that the batch has changed."""
        return {partition: raised.number for partition, raised in self.raised.items()}


def decide(records: Sequence[Record], marks: Marks, read: Read) -> Decision:
    """Let each record pass whose number is higher than every one before it in its partition."""
    highest = dict(marks)
    raised: dict[int, Raised] = {}
    passed: list[Record] = []
    letters: list[Letter] = []
    dropped = 0
    for record in records:
        number = read(record)
        if isinstance(number, str):
            letters.append(Letter(record, number))
            continue
        if number > highest.get(record.partition, -1):
            highest[record.partition] = number
            raised[record.partition] = Raised(number, record)
            passed.append(record)
        else:
            dropped += 1
    return Decision(passed, letters, dropped, raised)


def make_reader(where: str) -> Read:
    """Return what reads the number of a record: in its value, or in the header of this name."""
    place, _, name = where.partition(":")
    if place == "value":
        return read_value
    return lambda record: read_header(record, name)


def read_value(record: Record) -> Number:
    """Return the value as a number."""
    if record.value is None:
        return "value: missing"
    return parse(record.value, "value")


def read_header(record: Record, name: str) -> Number:
    """Return the value of a header as a number."""
    values = record.header_values(name)
    if len(values) != 1:
        return f"headers.{name}: given {len(values)} times"
    return parse(values[0], f"headers.{name}")


def parse(given: bytes, field: str) -> Number:
    """Return these digits as a number."""
    if NUMBER.fullmatch(given):
        return int(given)
    shown = given[:SHOWN].decode("ascii", "backslashreplace")
    return f"{field}: should be 1 to 18 digits, not {shown!r}"
