"""Read any file: choose a reader by its name, or say what cannot be read, and at which line."""

import re
from collections.abc import Callable
from pathlib import Path

from pipeline_check.reading.block import Block
from pipeline_check.reading.embedded import read_shell, read_terraform
from pipeline_check.reading.environment import read_env
from pipeline_check.reading.json_file import read_json
from pipeline_check.reading.properties_file import read_properties
from pipeline_check.reading.python_file import read_python
from pipeline_check.reading.sources.read_source import MAKES_A_CLIENT, SUFFIXES, read_source
from pipeline_check.reading.unreadable import UnreadableError
from pipeline_check.reading.yaml_file import read_yaml

Reader = Callable[[str, str], list[Block]]  # takes the file's name as it is printed, and its text
OF_SOURCES: dict[str, Reader] = dict.fromkeys(SUFFIXES, read_source)
READERS: dict[str, Reader] = OF_SOURCES | {
    ".json": read_json,
    ".jsonc": read_json,
    ".properties": read_properties,
    ".yaml": read_yaml,
    ".yml": read_yaml,
    ".env": read_env,
    ".py": read_python,
    ".sh": read_shell,
    ".tf": read_terraform,
}
LARGEST = 1_000_000  # characters; larger ones are generated, and would hold up the rest
# A file without any of these holds nothing for us; most files are such, and need not be parsed.
WORTH_READING = re.compile(
    r"kafka|CONNECT_|\.storage\.topic|connector\.class|bootstrap[._]servers"
    r"|metadata\.broker\.list|\backs\b|enable[._]idempotence|auto\.offset\.reset|min\.insync"
    r"|process\.roles|broker\.id|node\.id",
    re.IGNORECASE,
)
CONNECTOR = re.compile(r"connector\.class")
WORTH_READING_IN: dict[Reader, re.Pattern[str]] = {
    read_json: re.compile(r'"connector\.class"|"partitions"'),
    read_shell: CONNECTOR,
    read_terraform: CONNECTOR,
    read_source: re.compile(f"{MAKES_A_CLIENT.pattern}|ProducerBuilder|FutureProducer|WaterDrop"),
}


def reader_of(path: Path) -> Reader | None:
    """Return the reader for such a file; most kinds of files have none."""
    if path.name.startswith(".env"):
        return read_env
    return READERS.get(path.suffix)


def read(path: Path, name: str = "") -> list[Block]:
    """Return every block of one file; UnreadableError if it cannot be read."""
    shown_name = name or str(path)
    reader = reader_of(path)
    if not reader:
        return []
    return read_text(reader, shown_name, load(path, shown_name))


def load(path: Path, name: str) -> str:
    """Return the text of a file, whatever its bytes are."""
    try:
        if path.stat().st_size > 4 * LARGEST:  # no character has more bytes
            raise UnreadableError(name, 1, f"larger than {LARGEST:,} characters")
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as failure:
        raise UnreadableError(name, 1, failure.strerror or str(failure)) from None


def read_text(reader: Reader, name: str, text: str) -> list[Block]:
    """Return the blocks in a text, if it is worth reading at all."""
    pattern = WORTH_READING_IN.get(reader, WORTH_READING)
    if not pattern.search(text):
        return []
    if len(text) > LARGEST:
        raise UnreadableError(name, 1, f"larger than {LARGEST:,} characters")
    try:
        return reader(name, text)
    except RecursionError:
        raise UnreadableError(name, 1, "nested too deeply") from None
