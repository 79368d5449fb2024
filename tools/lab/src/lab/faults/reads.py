"""What each worker was given, batch by batch: nothing is skipped or repeated in an assignment."""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lab.faults.judge import Finding
from service.consumer import RecordConsumer
from service.record import Record


class ReadTrace:
    """A file for each worker, with a line for whatever moves its position."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def follow(self, consumer: RecordConsumer) -> None:
        """Note what this consumer gathers, goes back to and is assigned."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{os.getpid()}.jsonl"

        def note(**what: Any) -> None:
            with file.open("a") as stream:
                stream.write(json.dumps(what) + "\n")

        def gather(real: Callable[[], list[Record]] = consumer.gather) -> list[Record]:
            records = real()
            if records:
                note(gathered=[[record.partition, record.offset] for record in records])
            return records

        def rewind(records: Sequence[Record], real: Any = consumer.rewind) -> None:
            real(records)
            note(rewound=[[record.partition, record.offset] for record in records])

        def on_assign(client: Any, partitions: Any, real: Any = consumer.on_assign) -> None:
            note(assigned=[partition.partition for partition in partitions])
            real(client, partitions)

        vars(consumer).update(gather=gather, rewind=rewind, on_assign=on_assign)

    def check(self) -> list[Finding]:
        """Return what was skipped or repeated, and forget what was noted."""
        found = []
        for file in sorted(self.folder.glob("*.jsonl")):
            found += list(check_worker(file))
            file.unlink()
        return found


def check_worker(file: Path) -> Iterator[Finding]:
    """Yield the jumps of one worker; the last line may have been cut off by a kill.

    A batch may begin before a partition was taken away and go on after it was given back: once for
    each assignment since the batch before. In between somebody else has read and committed.
    """
    expected: dict[int, int] = {}
    given: dict[int, list[int | None]] = defaultdict(list)  # for each: what came next before it
    jumps: Counter[int] = Counter()
    for line in file.read_text().splitlines():
        try:
            noted = json.loads(line)
        except ValueError:
            return
        for partition in noted.get("assigned", []):
            given[partition].append(expected.pop(partition, None))
        # The first record of each partition is where it goes on.
        expected |= dict(reversed(noted.get("rewound", [])))
        for partition, offset in noted.get("gathered", []):
            assignments = given.pop(partition, [])
            if assignments:
                goes_on = assignments[0] == offset
                jumps[partition] = len(assignments) if goes_on else len(assignments) - 1
            wanted = expected.get(partition, offset)
            may_jump = jumps[partition] > 0 and offset > wanted
            if may_jump:
                jumps[partition] -= 1
            elif offset != wanted:
                subject = f"order.events/{partition}/{offset}"
                yield Finding("I26", subject, f"was read where {wanted} comes next")
            expected[partition] = offset + 1
        if "gathered" in noted:
            jumps.clear()
