"""A block: the settings that one client, worker, connector, topic or broker is given."""

from dataclasses import dataclass, field, replace
from typing import Literal

Kind = Literal["producer", "consumer", "worker", "connector", "topic", "broker", "unjudged"]
Client = Literal[
    "librdkafka",
    "java",
    "connect",
    "kafka-python",
    "aiokafka",
    "spark",
    "spring",
    "spring-cloud-stream",
    "smallrye",
    "micronaut",
    "streams",
    "old-java",
    "sarama",
    "franz-go",
    "kafka-go",
    "kafkajs",
    "",
]


@dataclass(frozen=True)
class Setting:
    """One value as Kafka would read it, and where it comes from."""

    text: str  # as it is written; the default of a value that comes from elsewhere
    line: int
    source: str = ""  # where it comes from, if not from here: "the environment variable ACKS"
    known: bool = True  # false: nothing here says what it will be
    literal: object = None  # the Python value, for clients to which "1" and 1 are not the same
    certain: bool = True  # false: it is set under a condition


Settings = dict[str, Setting]


@dataclass(frozen=True)
class Block:
    """The settings of one thing, under the names that its own documentation uses."""

    file: str
    line: int
    kind: Kind
    client: str = ""  # a Client, or the name of one without rules
    name: str = ""  # the connector's or topic's
    settings: Settings = field(default_factory=dict)
    opaque: str = ""  # more settings come from here, and cannot be seen: "**settings.kafka()"
    prefix: str = ""  # of the variables, where settings are in the environment: "CONNECT_"
    version: tuple[int, ...] = ()  # of Kafka, by the image that runs it
    version_from: str = ""  # the image

    def known(self, name: str) -> str | None:
        """Return the value if it is set and written here, and nothing otherwise."""
        setting = self.settings.get(name)
        return setting.text if setting and setting.known else None

    def moved_down(self, lines: int) -> "Block":
        """Return the same block with the line numbers of the file around it."""
        settings = {
            name: replace(each, line=each.line + lines) for name, each in self.settings.items()
        }
        return replace(self, line=self.line + lines, settings=settings)

    def line_of(self, name: str) -> int:
        """Return the line of a setting, or the block's own line if it is not set."""
        setting = self.settings.get(name)
        return setting.line if setting else self.line
