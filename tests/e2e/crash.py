"""python -m tests.e2e.crash STEP [N]: a service that kills itself (-9) before the Nth STEP."""

import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

from sqlalchemy import Engine

from service.__main__ import main, wire
from service.consumer import RecordConsumer
from service.handler import Steps
from service.settings import Settings


def killed_before(step: str, time: int) -> Callable[[Settings, Engine, RecordConsumer], Steps]:
    """Wire the real steps, with a kill in place of one of them."""
    begun = count(1)

    def killing(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
        real = wire(settings, engine, consumer)

        def begin(*given: Any) -> Any:
            if next(begun) == time:
                os.kill(os.getpid(), signal.SIGKILL)
            return getattr(real, step)(*given)

        change: dict[str, Any] = {step: begin}
        return real._replace(**change)

    return killing


if __name__ == "__main__":
    main(killed_before(sys.argv[1], int([*sys.argv, "1"][2])))
