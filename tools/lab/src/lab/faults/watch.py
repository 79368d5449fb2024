"""Watches the committed offsets while things break: none may be ahead of the work on its record."""

import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, TopicPartition

from contract.events import DEAD_LETTER
from contract.names import INPUT_TOPIC
from lab.faults.facts import Place, Sent
from lab.faults.judge import Finding
from lab.faults.observe import FAILURES, Databases, Env

EVERY_SECONDS = 0.2
TRACKED = "select message_id from tracking where message_id = any(%s)"
BURIED = 'select topic, partition, "offset" from dead_letter'


class OffsetWatch:
    """I5: whatever is below a committed offset was tracked or buried before it was committed.

    The offset is read first, the database after it, so that nothing in between is a false alarm.
    """

    def __init__(self, env: Env, sent: Callable[[], list[Sent]]) -> None:
        self.databases = Databases(dict(env))
        self.sent = sent
        self.findings: list[Finding] = []
        self.looks = 0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.keep_looking, daemon=True)
        self.consumer = Consumer(
            {
                "bootstrap.servers": env["KAFKA_BOOTSTRAP_SERVERS"],
                "group.id": env["GROUP_ID"],
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )

    def keep_looking(self) -> None:
        """Look five times a second; where something is down, look again later."""
        while not self.done.wait(EVERY_SECONDS):
            with suppress(*FAILURES):
                self.look()

    def look(self) -> None:
        """Compare once."""
        places = {one.place.partition for one in list(self.sent())}
        if not places:
            return
        asked = [TopicPartition(INPUT_TOPIC, partition) for partition in sorted(places)]
        committed = {
            found.partition: found.offset for found in self.consumer.committed(asked, timeout=2)
        }
        passed = [
            one for one in list(self.sent()) if one.place.offset < committed[one.place.partition]
        ]
        ids = [one.sample.message_id for one in passed]
        tracked = {row[0] for row in self.databases.rows("DATABASE_URL", TRACKED, [ids])}
        buried = {Place(*row) for row in self.databases.rows("DATABASE_URL", BURIED)}
        self.looks += 1
        known = {finding.subject for finding in self.findings}
        for place, sample in passed:
            is_letter = sample.expected == DEAD_LETTER
            is_safe = place in buried if is_letter else sample.message_id in tracked
            if not is_safe and str(place) not in known:
                sentence = "its offset was committed before the work was"
                self.findings.append(Finding("I5", str(place), sentence))

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.done.set()
        self.thread.join()
        self.consumer.close()
        self.databases.close()
