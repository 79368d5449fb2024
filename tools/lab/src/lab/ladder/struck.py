"""python -m lab.ladder.struck: the template's own service, killed or frozen at the named points."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from lab.ladder.strikes import Strikes
from service.__main__ import main, wire
from service.consumer import RecordConsumer
from service.handler import Steps
from service.settings import Settings


def struck(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """The real steps; frozen before the write, killed after it, or when the POST is answered and nothing is noted."""
    real, strikes = wire(settings, engine, consumer), Strikes(Path(os.environ["STRIKES"]))

    def write(items: Sequence[Any]) -> Any:
        strikes.begin()
        strikes.strike("freeze", [getattr(item, "message_id", "") for item in items])
        return real.write(items)

    def post(entries: Sequence[Any]) -> Any:
        for point in ("gap", "late"):
            strikes.strike(point, [entry.message.message_id for entry in entries])
        return real.post(entries)

    def mark(answers: dict[str, Any]) -> None:
        strikes.strike("end", answers)
        real.mark(answers)

    return Steps(write, post, mark, real.commit)


if __name__ == "__main__":
    main(struck)
