"""Control: the service without the probe and the rule of ten: what is refused is buried."""

from sqlalchemy import Engine

from service.__main__ import main, wire
from service.consumer import RecordConsumer
from service.handler import Steps, blame_the_message
from service.settings import Settings


def unjudged(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Wire the real steps, but blame the message for whatever is refused."""
    return wire(settings, engine, consumer)._replace(is_to_blame=blame_the_message)


if __name__ == "__main__":
    main(unjudged)
