"""python -m tests.e2e.unanswered leave | close BROKER TOPIC: a member that leaves while it commits.

The process BROKER is frozen just before the commit, which so has no answer.
"""

import os
import sys
from contextlib import suppress
from signal import SIGSTOP

from service.consumer import RecordConsumer
from service.outage import OutageError
from service.settings import Settings


def main(how: str, broker: int, topic: str) -> None:
    """Read a batch, fail to commit it, and leave; `close` is the control."""
    settings = Settings(input_topic=topic, group_id=topic)
    consumer = RecordConsumer(settings, is_stopping=lambda: False)
    while not (batch := consumer.gather()):
        pass
    os.kill(broker, SIGSTOP)
    with suppress(OutageError):
        consumer.commit(batch)
    sys.stdout.write("leaves\n")
    sys.stdout.flush()
    if how == "leave":
        consumer.leave()
    else:
        consumer.consumer.close()
    sys.exit("has left")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
