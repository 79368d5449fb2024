"""The SQL of migrations, wherever it stands: in files of its own, and in the strings of Python sources."""

import re
from collections.abc import Iterable
from pathlib import Path

SUFFIXES = {".sql", ".py"}
TESTS = {"test", "tests"}  # whose tables are made up
WORTH_READING = re.compile(r"create\s+(?:unlogged\s+)?table|create\s+publication|grant\s", re.IGNORECASE)
LARGEST = 1_000_000  # bytes; a dump is no migration


def sql_of(files: Iterable[Path]) -> list[str]:
    """The texts that create tables or publications, or grant something."""
    chosen = (f for f in files if f.suffix in SUFFIXES and not TESTS & set(f.parts) and f.stat().st_size < LARGEST)
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in chosen)
    return [text for text in texts if WORTH_READING.search(text)]
