"""Which topics are landed, by who writes them."""

from collections.abc import Sequence
from typing import NamedTuple

from contract import names
from contract.events import EVENTS
from contract.pulse import PULSE_TOPIC
from spark.parts import Part
from spark.settings import Settings


class Topics(NamedTuple):
    """Every topic that is landed."""

    input: str  # what the service reads
    input_name: str  # what its rows are called: another name if it was created again
    events: tuple[str, ...]  # written by Connect, from an outbox
    other_inputs: tuple[str, ...] = ()  # what the extras read

    def all(self) -> list[str]:
        """Return every topic once."""
        topics = [self.input, *self.other_inputs, *self.events]
        return without_repeats(topics)


def topics_to_land(settings: Settings, parts: Sequence[Part]) -> Topics:
    """Return the input topic, the topics of the contract's events, and those of the extras."""
    events = [event.topic for event in EVENTS]
    events += [names.DEAD_LETTER_TOPIC, PULSE_TOPIC, *names.OTHER_OUTBOXES]
    other_inputs: list[str] = []
    for part in parts:
        events += part.event_topics
        other_inputs += part.input_topics
    return Topics(
        input=settings.input_topic,
        input_name=settings.input_topic,
        events=tuple(without_repeats(events)),
        other_inputs=tuple(other_inputs),
    )


def without_repeats(topics: Sequence[str]) -> list[str]:
    """Return each topic once, where it comes first."""
    return list(dict.fromkeys(topics))
