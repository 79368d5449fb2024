"""`look`: what is not well with the running parts. The clients that it takes are an extra, so they come last."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ops.check.audit import look as read
from ops.check.finding import Finding, Severity
from ops.check.live.unseen import cannot_look
from ops.check.reading.block import Block
from ops.check.walk import files

EXTRA = "pip install 'outbox-pipeline[service]'"


def look(environment: Mapping[str, str], blocks: Sequence[Block] = (), sql: Iterable[str] = ()) -> list[Finding]:
    """Every finding about what runs, held against the blocks that were read and the SQL of the migrations."""
    try:
        from ops.check.live.looking import look_at  # noqa: PLC0415 - only here are the clients needed
    except ImportError as missing:
        return [cannot_look("everything", f"it takes clients, and {missing.name} is not installed", EXTRA)]
    return look_at(environment, blocks, sql)


def main(arguments: Sequence[str]) -> int:
    """Print the findings; 0 if there is nothing above a note, 1 if there is, 2 if a part could not be looked at."""
    files_read = read(files(map(Path, arguments)), [])
    found = look(os.environ, files_read.blocks, files_read.sql)
    for one in found:
        print(f"{one.severity.name.lower():<8}{one.file}: {one.id}: {one.message}\n{'':8}fix: {one.fix}")
    print(f"{len(found)} findings", file=sys.stderr)
    if any(one.id == "cannot-look" for one in found):
        return 2
    return int(any(one.severity > Severity.NOTE for one in found))
