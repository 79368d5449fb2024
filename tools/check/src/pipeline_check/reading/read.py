"""Any file to its blocks: by its name to its reader, or a sentence that says what could not be read, and where."""

import re
from collections.abc import Callable
from pathlib import Path

from pipeline_check.reading.block import Block
from pipeline_check.reading.connect_json import read_json
from pipeline_check.reading.environment import read_env
from pipeline_check.reading.flat_file import read_properties
from pipeline_check.reading.python_file import read_python
from pipeline_check.reading.unreadable import UnreadableError
from pipeline_check.reading.yaml_file import read_yaml

Reader = Callable[[str, str], list[Block]]  # the file's name, as it will be told, and its text
READERS: dict[str, Reader] = {
    ".json": read_json,
    ".properties": read_properties,
    ".yaml": read_yaml,
    ".yml": read_yaml,
    ".env": read_env,
    ".py": read_python,
}
LARGEST = 1_000_000  # characters; nobody writes a larger configuration, and generated ones would hold up the rest
# Files in which none of this stands hold nothing for us; most files are such, and need not be parsed.
WORTH_READING = re.compile(
    r"kafka|CONNECT_|\.storage\.topic|connector\.class|bootstrap[._]servers|metadata\.broker\.list|\backs\b"
    r"|enable[._]idempotence|auto\.offset\.reset|min\.insync|process\.roles|broker\.id|node\.id",
    re.IGNORECASE,
)
IN_JSON = re.compile(r'"connector\.class"|"partitions"')


def reader_of(path: Path) -> Reader | None:
    """Who reads such a file; nobody reads all the others."""
    if path.name.startswith(".env"):
        return read_env
    return READERS.get(path.suffix)


def read(path: Path, name: str = "") -> list[Block]:
    """Every block of one file, which may be none; UnreadableError if it cannot be read."""
    name, reader = name or str(path), reader_of(path)
    return read_text(reader, name, load(path, name)) if reader else []


def load(path: Path, name: str) -> str:
    """The text of a file, whatever its bytes are."""
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as failure:
        raise UnreadableError(name, 1, failure.strerror or str(failure)) from None


def read_text(reader: Reader, name: str, text: str) -> list[Block]:
    """The blocks in a text, if it is worth reading at all."""
    worth_reading = IN_JSON if reader is read_json else WORTH_READING
    if not worth_reading.search(text):
        return []
    if len(text) > LARGEST:
        raise UnreadableError(name, 1, f"larger than {LARGEST:,} characters")
    try:
        return reader(name, text)
    except RecursionError:
        raise UnreadableError(name, 1, "nested too deeply") from None
