"""Any file to its blocks: by its name to its reader, or a sentence that says what could not be read, and where."""

from collections.abc import Callable
from pathlib import Path

from ops.check.reading.block import Block
from ops.check.reading.connect_json import read_json
from ops.check.reading.unreadable import UnreadableError

Reader = Callable[[str, str], list[Block]]  # the file's name, as it will be told, and its text
READERS: dict[str, Reader] = {".json": read_json}
LARGEST = 1_000_000  # characters; nobody writes a larger configuration, and generated ones would hold up the rest


def read(path: Path, name: str = "") -> list[Block]:
    """Every block of one file, which may be none; UnreadableError if it cannot be read."""
    name = name or str(path)
    reader = READERS.get(path.suffix)
    if not reader:
        return []
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as failure:
        raise UnreadableError(name, 1, failure.strerror or str(failure)) from None
    if len(text) > LARGEST:
        raise UnreadableError(name, 1, f"larger than {LARGEST} characters")
    return reader(name, text)
