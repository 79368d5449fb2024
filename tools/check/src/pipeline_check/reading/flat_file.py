"""Flat files: Java's .properties, and what Spring makes of the same names in YAML."""

from pipeline_check.reading.block import Block, Setting
from pipeline_check.reading.classify import classify
from pipeline_check.reading.properties_text import parse_properties
from pipeline_check.reading.spring import spring_blocks


def read_properties(file: str, text: str) -> list[Block]:
    """A .properties file."""
    return flat_blocks(file, parse_properties(file, text))


def flat_blocks(file: str, settings: dict[str, Setting]) -> list[Block]:
    """What flat settings hold: Spring's own names, or Kafka's."""
    rest = {name: each for name, each in settings.items() if not name.startswith("spring.kafka.")}
    return spring_blocks(file, settings) + classify(file, rest)
