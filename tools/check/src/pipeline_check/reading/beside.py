"""Files that a compose file names beside itself: variables in .env files, and Dockerfiles."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pipeline_check.reading.block import Setting, Settings
from pipeline_check.reading.environment import unquoted
from pipeline_check.reading.images import base_of
from pipeline_check.reading.roots import up_to_the_root

LARGEST = 200_000  # bytes
# What people commit instead of a .env file, whose values stay at home.
EXAMPLES = (".example", ".sample", ".template", ".dist")


def text_beside(file: str, *parts: str) -> str:
    """Return the text of a file that another one names; nothing if it is not in the project."""
    folder = Path(file).absolute().parent
    path = folder.joinpath(*parts)
    try:
        is_inside = path.resolve().is_relative_to(up_to_the_root(folder)[-1].resolve())
        if not is_inside or not path.is_file() or path.stat().st_size > LARGEST:
            return ""
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except (OSError, ValueError):
        return ""


def variables_beside(file: str, name: str) -> Settings | None:
    """Return the variables of a .env file, or of its example; nothing if neither is there."""
    for candidate in (name, *(f"{name}{each}" for each in EXAMPLES)):
        text = text_beside(file, candidate)
        if text:
            source = f"{candidate}, whose values are judged"
            return {key: Setting(value, 1, source) for key, value in pairs(text)}
    return None


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a .env file."""
    for line in text.splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            yield name.strip(), unquoted(value)


def base_beside(file: str, context: str, dockerfile: str, given: Mapping[str, str]) -> str:
    """Return the image that a service is built from, with the arguments of its build."""
    return base_of(text_beside(file, context, dockerfile or "Dockerfile"), given)
