"""Remembers the log of every landed table: what was written once may never be different later."""

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from lab.faults.judge import Finding

# What the landing writes into the history of a table.
BATCH = re.compile(r"(?P<query>\S+) batch (?P<number>[0-9]+)")


class LakeLog:
    """I13: no version changes, each file that it adds is there with its size, batches go up."""

    def __init__(self, delta_root: Path) -> None:
        self.root = delta_root / "landed"
        self.seen: dict[Path, str] = {}

    def check(self) -> list[Finding]:
        """Return what is wrong with the tables as they are now."""
        tables = sorted(self.root.glob("*/_delta_log"))
        return [finding for log in tables for finding in self.check_table(log)]

    def check_table(self, log: Path) -> Iterator[Finding]:
        """Yield what is wrong with one table."""
        versions = sorted(log.glob("*.json"))
        last_batch: dict[str, int] = {}
        for number, file in enumerate(versions):
            if int(file.stem) != number:
                yield Finding("I13", str(file), "a version before it is missing")
            content = file.read_bytes()
            digest = sha256(content).hexdigest()
            if self.seen.setdefault(file, digest) != digest:
                yield Finding("I13", str(file), "has changed since it was written")
            for action in map(json.loads, content.splitlines()):
                yield from check_file(log.parent, action)
                for application, batch in batches_of(action):
                    if batch <= last_batch.get(application, -1):
                        yield Finding("I13", str(file), f"lands batch {batch} again")
                    last_batch[application] = batch
        for file in self.seen:
            if file.parent == log and file not in versions:
                yield Finding("I13", str(file), "is gone")


def batches_of(action: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield who has written a commit and which number that had, if an action of it says so."""
    transaction = action.get("txn")
    if transaction:
        yield transaction["appId"], transaction["version"]
    named = BATCH.fullmatch(action.get("commitInfo", {}).get("userMetadata", ""))
    if named:
        yield named["query"], int(named["number"])


def check_file(table: Path, action: dict[str, Any]) -> Iterator[Finding]:
    """Yield what is wrong with the file that an action adds."""
    added = action.get("add")
    if not added:
        return
    file = table / added["path"]
    if not file.exists():
        yield Finding("I13", str(file), "is in the log and not there")
    elif file.stat().st_size != added["size"]:
        yield Finding("I13", str(file), "has another size than in the log")
