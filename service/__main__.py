"""python -m service: handle orders until asked to stop, with the settings of the environment."""

import signal
import sys
import threading
from collections.abc import Callable

from sqlalchemy import Engine

from service.consumer import OffsetsGoneError, OrderConsumer
from service.handler import Steps
from service.logs import configure_logs
from service.loop import run
from service.settings import Settings
from service.wiring import engine_of, serve, wire


def main(wire: Callable[[Settings, Engine, OrderConsumer], Steps] = wire) -> None:
    """SIGTERM finishes the batch and leaves the group; other wiring is for whoever tests a crash."""
    settings = Settings()
    configure_logs(settings.log_level)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    engine = engine_of(settings)
    consumer = OrderConsumer(settings, stopping.is_set)
    serve(settings, engine, consumer)
    try:
        run(consumer, wire(settings, engine, consumer), stopping)
    except OffsetsGoneError as error:
        sys.exit(f"service: {error}")


if __name__ == "__main__":
    main()
