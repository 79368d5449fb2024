"""Any of these sources: which reader, and what to say where it cannot be read."""

import re
from collections.abc import Callable
from pathlib import PurePath

from pipeline_check.reading.block import Block
from pipeline_check.reading.sources.go import read_go
from pipeline_check.reading.sources.javascript import read_javascript
from pipeline_check.reading.sources.jvm import read_jvm
from pipeline_check.reading.sources.trees import GRAMMARS, NoGrammarError

READERS: dict[str, Callable[[str, str, str], list[Block]]] = {
    ".java": read_jvm,
    ".kt": read_jvm,
    ".go": read_go,
    ".js": read_javascript,
    ".mjs": read_javascript,
    ".cjs": read_javascript,
    ".ts": read_javascript,
}
assert READERS.keys() == GRAMMARS.keys()
MAKES_A_CLIENT = re.compile(
    r"KafkaProducer\b|KafkaConsumer\b|Kafka(Producer|Consumer)Factory|Streams(Config(uration)?)?\("
    r"|SenderOptions|ReceiverOptions|TopicBuilder|NewTopic\(|NewTopic<"
    r"|sarama\.New|kgo\.New|kafka\.(ConfigMap|TopicConfig|NewProducer|NewConsumer)"
    r"|kafka\.(Writer|NewWriter)|segmentio/kafka-go|franz-go/pkg/kgo|/sarama\""
    r"|Transport\.KAFKA|createTopics|kafkajs|rdkafka|kafka-javascript|\.producer\("
)
# Clients without rules, by what makes a producer of theirs.
OTHERS = {
    ".cs": (re.compile(r"new ProducerBuilder<|new ProducerConfig"), "Confluent's client for .NET"),
    ".rs": (re.compile(r"FutureProducer|BaseProducer"), "rdkafka for Rust"),
    ".scala": (re.compile(r"KafkaProducer\[|ProducerSettings\("), "Kafka's clients in Scala"),
    ".rb": (re.compile(r"WaterDrop|Rdkafka::Config|Kafka\.new"), "Kafka's clients in Ruby"),
    ".php": (re.compile(r"RdKafka\\\\?Producer|new Producer\("), "rdkafka for PHP"),
}
SUFFIXES = {*READERS, *OTHERS}


def read_source(file: str, text: str) -> list[Block]:
    """Return every client in a source; a note where nothing here can read it."""
    suffix = PurePath(file).suffix
    if suffix in OTHERS:
        pattern, client = OTHERS[suffix]
        made = pattern.search(text)
        line = text.count("\n", 0, made.start()) + 1 if made else 0
        return [Block(file, line, "unjudged", client)] if made else []
    try:
        return READERS[suffix](file, text, suffix)
    except NoGrammarError as missing:
        return [Block(file, 1, "unjudged", str(missing))]
