"""Which topics are landed, by who writes them."""

from collections.abc import Sequence
from typing import NamedTuple

from contract import names
from contract.events import EVENTS
from spark.parts import Part
from spark.settings import Settings


class Topics(NamedTuple):
    """Every topic that is landed."""

    input: str  # what the service reads
    events: tuple[str, ...]  # written by Connect, from an outbox
    other_inputs: tuple[str, ...] = ()  # what the extras read

    def all(self) -> list[str]:
        """Return every topic once."""
        return list(dict.fromkeys([self.input, *self.other_inputs, *self.events]))


def topics_to_land(settings: Settings, parts: Sequence[Part]) -> Topics:
    """Return the input topic, the topics of the contract's events, and those of the extras."""
    events = [event.topic for event in EVENTS]
    events += [names.DEAD_LETTER_TOPIC, names.AUDIT_TOPIC, *settings.also_land]
    other_inputs: list[str] = []
    for part in parts:
        events += part.event_topics
        other_inputs += part.input_topics
    return Topics(settings.input_topic, tuple(dict.fromkeys(events)), tuple(other_inputs))
