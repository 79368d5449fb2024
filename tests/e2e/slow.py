"""python -m tests.e2e.slow tracked | untracked: a service whose audit receiver answers too late.

The real one does not wait for so long: AUDIT_TIMEOUT_SECONDS ends the request, and the settings are
refused if such a batch does not fit between two polls. Here the answer is held back behind that.
"""

import os
import sys
import time
from collections.abc import Sequence

from sqlalchemy import Engine

from service.__main__ import main, wire
from service.consumer import RecordConsumer
from service.handler import Steps
from service.post import Answers, Entry
from service.settings import Settings
from tests.e2e.untracked import untracked

WIRINGS = {"tracked": wire, "untracked": untracked}


def slow(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Wire the steps, with an answer that comes after the group has given the partition away."""
    real = WIRINGS[sys.argv[1]](settings, engine, consumer)

    def post(entries: Sequence[Entry]) -> Answers:
        answers = real.post(entries)
        time.sleep(float(os.environ["ANSWER_AFTER_SECONDS"]))
        return answers

    return real._replace(post=post)


if __name__ == "__main__":
    main(slow)
