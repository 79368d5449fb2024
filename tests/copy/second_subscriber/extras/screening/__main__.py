"""python -m extras.screening: the service, with another rule, for another subscriber."""

from collections.abc import Sequence

from pydantic_settings import BaseSettings
from sqlalchemy import Engine

from extras.screening.rule import RULE, SUBSCRIBER
from service.__main__ import main, wire
from service.consumer import RecordConsumer
from service.handler import Steps
from service.post import Answers, Entry
from service.settings import Settings


class Own(BaseSettings):
    """What screening is asked to do otherwise than the service."""

    screening_port: int = 18090


def tell_nobody(entries: Sequence[Entry]) -> Answers:
    """Screening is not audited."""
    return {entry.message.message_id: None for entry in entries}


def wire_unaudited(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Return the service's steps, with this rule and without the POST."""
    return wire(settings, engine, consumer, RULE)._replace(post=tell_nobody)


if __name__ == "__main__":
    settings = Settings(
        subscriber=SUBSCRIBER,
        group_id=SUBSCRIBER,
        start_from="beginning",
        service_port=Own().screening_port,
    )
    main(wire_unaudited, settings, RULE.events)
