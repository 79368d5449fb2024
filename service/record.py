"""A record: bytes at a topic, partition and offset, before anybody has understood them."""

from typing import NamedTuple

Headers = list[tuple[str, bytes | None]]


class Record(NamedTuple):
    """What Kafka gave us, unchanged."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def position(self) -> str:
        """The one name that a record has for ever."""
        return f"{self.topic}/{self.partition}/{self.offset}"
