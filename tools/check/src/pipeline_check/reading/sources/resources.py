"""What Spring Boot's own files say beside a Java or Kotlin source: `src/main/resources`."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from pipeline_check.reading.block import Block, Kind, Setting, Settings
from pipeline_check.reading.node import flatten
from pipeline_check.reading.placeholder import substitute
from pipeline_check.reading.properties_file import parse_properties
from pipeline_check.reading.spring import spring_blocks
from pipeline_check.reading.unreadable import UnreadableError
from pipeline_check.reading.yaml_file import parse_yaml, without_brackets

NAMES = ("application.yml", "application.yaml", "application.properties")
LARGEST = 500_000  # bytes


def application_settings(file: str) -> Mapping[str, Setting]:
    """Return the settings of the application that a source is of."""
    for folder in Path(file).absolute().parents:
        if folder.name == "main" and folder.parent.name == "src":
            return read_resources(folder / "resources")
    return {}


@cache
def read_resources(folder: Path) -> Mapping[str, Setting]:
    """Return the flat settings of a folder's application file; unknown where a profile differs."""
    try:
        found = settings_in([folder / name for name in NAMES])
        for profile in sorted(folder.glob("application-*")):
            for name, each in settings_in([profile]).items():
                if name not in found or found[name].text != each.text:
                    found[name] = Setting("", each.line, profile.name, known=False)
    except UnreadableError:
        return {}
    return found


def settings_in(paths: Iterable[Path]) -> Settings:
    """Return the flat settings of some files, the last one winning."""
    found: Settings = {}
    for path in paths:
        text = text_of(path)
        found |= flat_settings(path, text) if text else {}
    return substitute(without_brackets(found))


def flat_settings(path: Path, text: str) -> Settings:
    """Return the settings that hold whatever the profile is."""
    if path.suffix == ".properties":
        return parse_properties(path.name, text)
    found: Settings = {}
    for document in parse_yaml(path.name, text):
        own = {name: Setting(str(node.value), node.line) for name, node in flatten(document)}
        is_profile = any("on-profile" in name or name == "spring.profiles" for name in own)
        found |= {} if is_profile else own
    return found


def text_of(path: Path) -> str:
    """Return the text of a small file; nothing, if there is none."""
    if not path.is_file() or path.is_symlink() or path.stat().st_size > LARGEST:
        return ""
    return path.read_text(encoding="utf-8-sig", errors="replace")


def spring_client(settings: Mapping[str, Setting], kind: Kind) -> Block | None:
    """Return the producer or the consumer that Spring Boot makes of an application's settings."""
    blocks = spring_blocks("", dict(settings))
    return next((block for block in blocks if block.kind == kind), None)
