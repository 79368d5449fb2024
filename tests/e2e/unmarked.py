"""Control: the service that forgets what the audit receiver has answered, and posts it again."""

from collections.abc import Container

from sqlalchemy import Engine

from service.__main__ import main, wire
from service.consumer import RecordConsumer
from service.handler import Steps
from service.post import Answers
from service.settings import Settings


def unmarked(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Wire the real steps, without the mark."""
    real = wire(settings, engine, consumer)

    def mark(answers: Answers) -> Container[str]:
        return answers.keys()

    return real._replace(mark=mark)


if __name__ == "__main__":
    main(unmarked)
