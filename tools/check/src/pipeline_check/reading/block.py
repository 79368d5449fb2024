"""A block: the settings that one client, worker, connector, topic or broker is given, each with its place."""

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["producer", "consumer", "worker", "connector", "topic", "broker", "unjudged"]
Client = Literal["librdkafka", "java", "connect", "kafka-python", "aiokafka", "spark", "spring", ""]


@dataclass(frozen=True)
class Setting:
    """One value as Kafka would read it, and whether it is really written there."""

    text: str  # as written; where it comes from elsewhere and has a default, that default
    line: int
    source: str = (
        ""  # where the value comes from, if not from here: "the environment variable ACKS"
    )
    known: bool = (
        True  # false: nothing here says what it will be, and `text` is only what was written
    )
    literal: object = None  # the Python value, for clients to which "1" and 1 are not the same


@dataclass(frozen=True)
class Block:
    """The settings of one thing, under the names that its own documentation uses."""

    file: str
    line: int
    kind: Kind
    client: str = ""  # a Client, or the name of one that we have no rules for
    name: str = ""  # the connector's or topic's
    settings: dict[str, Setting] = field(default_factory=dict)
    opaque: str = ""  # more settings come from here, and cannot be seen: "**settings.kafka()"
    prefix: str = ""  # of the variables, where settings are given in the environment: "CONNECT_"

    def known(self, name: str) -> str | None:
        """The value, if it is set and written here; nothing if it is unset or comes from elsewhere."""
        setting = self.settings.get(name)
        return setting.text if setting and setting.known else None

    def line_of(self, name: str) -> int:
        """Where a setting stands; the block's own line if it is not set."""
        setting = self.settings.get(name)
        return setting.line if setting else self.line
