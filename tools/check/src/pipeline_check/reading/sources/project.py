"""Where a name is defined that another file of the project has: a class, a module, a package."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from pipeline_check.reading.block import Setting
from pipeline_check.reading.placeholder import substitute
from pipeline_check.reading.roots import up_to_the_root
from pipeline_check.reading.sources.resources import flat_settings
from pipeline_check.reading.unreadable import UnreadableError
from pipeline_check.reading.yaml_file import without_brackets
from pipeline_check.walk import files_below

LARGEST = 500_000  # bytes
MOST = 50_000  # files of a project that are looked for
INDEXED = {".java", ".kt"}
APPLICATION = re.compile(r"application(-[\w-]+)?\.(yml|yaml|properties)")
SCRIPTS = (".ts", ".js", ".mjs", ".cjs")
MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)


def text_of(path: Path) -> str:
    """Return the text of a source; nothing of one that is too large, or a link."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
            return ""
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return ""


def root_of(file: str) -> Path:
    """Return the root of the project that a file is in."""
    return up_to_the_root(Path(file).absolute().parent)[-1]


# Java and Kotlin


@cache
def project_files(root: Path) -> tuple[Mapping[str, list[Path]], list[Path]]:
    """Return the classes of a project by name, and its Spring applications' settings."""
    classes: dict[str, list[Path]] = defaultdict(list)
    applications = []
    for count, path in enumerate(files_below(root)):
        if count > MOST:
            break
        if path.suffix in INDEXED:
            classes[path.stem].append(path)
        is_main = "resources" in path.parts and "test" not in path.parts
        if APPLICATION.fullmatch(path.name) and is_main:
            applications.append(path)
    return classes, applications


def class_file(file: str, name: str, imported: Mapping[str, str]) -> Path | None:
    """Return the file of a class as another file sees it; nothing if several may be meant."""
    candidates = project_files(root_of(file))[0].get(name, [])
    package = imported.get(name, "").replace(".", "/")
    if package:
        candidates = [
            each for each in candidates if each.with_suffix("").as_posix().endswith(package)
        ]
    beside = [each for each in candidates if each.parent == Path(file).absolute().parent]
    chosen = beside or candidates
    return chosen[0] if len(chosen) == 1 else None


@cache
def agreed_properties(root: Path) -> Mapping[str, Setting]:
    """Return what all applications of a project say of a property, by its name without separators.

    What two of them, or two profiles of one, say differently is left out.
    """
    said: dict[str, dict[str, Setting]] = defaultdict(dict)
    for path in project_files(root)[1]:
        try:
            flat = substitute(without_brackets(flat_settings(path, text_of(path))))
        except UnreadableError:
            continue
        for name, each in flat.items():
            text = each.text if each.known else each.source
            place = f"{name} in {path.name}"
            said[plain(name)][text] = Setting(
                each.text, each.line, each.source or place, each.known
            )
    return {name: next(iter(each.values())) for name, each in said.items() if len(each) == 1}


def plain(name: str) -> str:
    """Return a property's name without what Spring's relaxed binding does not look at."""
    return name.replace("-", "").replace("_", "").lower()


# JavaScript


@cache
def script_file(importer: str, module: str) -> str:
    """Return the file of a relative import; nothing if it is not there."""
    if not module.startswith("."):
        return ""
    path = Path(importer).absolute().parent / module
    stem = path.with_suffix("") if path.suffix in SCRIPTS else path
    candidates = [path, *(stem.with_name(stem.name + each) for each in SCRIPTS)]
    candidates += [path / f"index{each}" for each in SCRIPTS]
    for each in candidates:
        if each.suffix in SCRIPTS and each.is_file() and not each.is_symlink():
            return str(each)
    return ""


# Go


@cache
def package_files(folder: Path) -> tuple[Path, ...]:
    """Return the sources of a package, without its tests."""
    found = sorted(folder.glob("*.go"))
    return tuple(each for each in found if not each.name.endswith("_test.go"))


@cache
def package_folder(file: str, imported: str) -> Path | None:
    """Return the folder of an imported package of the same module."""
    for folder in up_to_the_root(Path(file).absolute().parent):
        module = MODULE.search(text_of(folder / "go.mod"))
        if module:
            rest = imported.removeprefix(module[1])
            is_inside = rest != imported and rest.startswith("/")
            return folder / rest.lstrip("/") if is_inside else None
    return None


def none_elsewhere(_name: str) -> None:
    """Return nothing: for a source without a project."""


Reader = Callable[[str], object]
