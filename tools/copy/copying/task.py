"""What Copier runs in a fresh copy: drop what was not asked for, rename the rest, format it.

The result depends on the template and the answers alone, because Copier also runs this when it
rebuilds an old version to see what the user has changed since. For the same reason only files that
are byte for byte the template's are touched: all others are the user's.
"""

import json
import posixpath
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from copying.words import TEMPLATE, TEMPLATE_TOPIC, Words, identifiers, refusals

PAGE = "tools/copy/copying/page.md"  # becomes the README of the copy
NOT_COPIED = (
    "tools/",
    "tests/copy/",
    "tests/unit/test_copy_",
    "docs/",
    ".git/",
)  # they clash with nothing
NAMESPACE_OF_PROJECTS = UUID("9a1b54c4-6a0e-5d0b-8f0e-3d2f5e6f7a10")

# `# copy: never` or `# copy: with ops` at the end of a line decides whether a copy has that line.
# With a brace after it, alone on a line, it decides for all lines up to `# copy: }`. It may also
# follow a semicolon in another comment.
MARK = re.compile(
    r"(?:;|[ \t]*(?:#|<!--))[ \t]*copy: "
    r"(?:(?P<condition>never|with \w+)(?P<opens> \{)?|(?P<closes>\}))[ \t]*(?:-->)?$"
)
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s:#]+)(?:#[^)\s]*)?\)")


class RefusedError(Exception):
    """The copy cannot be made; the text says why, and what to change."""


class Wishes(NamedTuple):
    """What this copy is to be."""

    words: Words
    parts: frozenset[str]  # the extras that it keeps, and ops if it keeps that
    project: str
    files: frozenset[str]  # the files of the template that it has


def make_copy(template: Path, copy: Path, answers: dict[str, Any], answers_file: str) -> str:
    """Turn Copier's plain copy into the user's own, and return what is left to do by hand."""
    sources = template_files(template)
    copied = [path for path in sources if is_same(copy / path, template / path)]
    wishes = read_wishes(answers, copied)
    words = wishes.words
    check_words(template, sources, words)
    check_topic(template, words.input_topic)
    targets = {path: words.rename(path) for path in copied}
    if not (copy / answers_file).exists():
        check_free(copy, {"README.md", *targets.values()} - set(copied))

    (copy / "README.md").write_text(finish(template / PAGE, "README.md", wishes))
    made = [deliver(copy, path, target, wishes) for path, target in targets.items()]
    lines = [f"{key}: {json.dumps(value)}" for key, value in answers.items()]  # which is YAML, too
    (copy / answers_file).write_text("\n".join(lines) + "\n")

    programs = [file for file in made if file.suffix == ".py"]
    left_to_do = format_programs(copy, programs)
    allow_longest_line(copy / "pyproject.toml", programs)
    return left_to_do


def read_wishes(answers: dict[str, Any], copied: list[str]) -> Wishes:
    """Return what these answers ask for, of a template of which these files were copied."""
    table = {old: answers[question] for question, old in TEMPLATE.items()}
    parts = {*answers["keep"], *(["ops"] if answers["ops"] else [])}
    words = Words(table, answers["input_topic"])
    files = frozenset({*copied, "README.md"})
    return Wishes(words, frozenset(parts), answers["project"], files)


def template_files(template: Path) -> list[str]:
    """Return every file of the template, as a path from its root."""
    files = []
    for found in template.rglob("*"):
        path = found.relative_to(template)
        if found.is_file() and path.parts[0] != ".git":
            files.append(path.as_posix())
    return sorted(files)


def check_words(template: Path, sources: list[str], words: Words) -> None:
    """Refuse words that the template uses for something else, with the files that do."""
    names: dict[str, set[str]] = defaultdict(set)
    relevant = [path for path in sources if not path.startswith(NOT_COPIED)]
    for path in relevant:
        if path.endswith((".py", ".sql")):
            for name in identifiers(path, (template / path).read_text()):
                names[name].add(path)
    found = refusals(words, names, relevant)
    if found:
        raise RefusedError("\n".join(found))


def check_topic(template: Path, input_topic: str) -> None:
    """Refuse an input topic that something else is published on."""
    topics = json.loads((template / "connect" / "topics.json").read_text())
    if input_topic in topics and input_topic != TEMPLATE_TOPIC:
        raise RefusedError(f"{input_topic!r} is a topic of the template's: choose another")


def check_free(copy: Path, targets: set[str]) -> None:
    """Refuse a folder that has a file of the user's where the first copy would write one."""
    taken = sorted(target for target in targets if (copy / target).exists())
    if taken:
        raise RefusedError(f"{', '.join(taken)}: here already; copy into a new folder")


def is_same(copied: Path, original: Path) -> bool:
    """Return whether this file of the copy is byte for byte the template's."""
    return copied.is_file() and copied.read_bytes() == original.read_bytes()


def deliver(copy: Path, path: str, target: str, wishes: Wishes) -> Path:
    """Bring one file of the template into the copy's words, its own name among them."""
    made = copy / target
    made.parent.mkdir(parents=True, exist_ok=True)
    if target != path:
        shutil.move(copy / path, made)
        remove_empty(copy, (copy / path).parent)
    if not path.endswith(".lock") and is_text(made):
        made.write_text(finish(made, path, wishes))
    return made


def is_text(file: Path) -> bool:
    """Return whether there is something to rename in this file."""
    return b"\0" not in file.read_bytes()


def remove_empty(copy: Path, folder: Path) -> None:
    """Remove a folder whose last file was renamed, and the folders above that are empty then."""
    while folder != copy and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def finish(file: Path, path: str, wishes: Wishes) -> str:
    """Return the text that a file, which has this path in the template, gets in the copy."""
    words, project = wishes.words, wishes.project
    text = drop_marked(file.read_text(), wishes.parts)
    if path.endswith(".md"):
        text = drop_links(text, path, wishes.files).replace("{project}", project)
    text = words.rename_python(text) if path.endswith(".py") else words.rename(text)
    if path == "contract/names.py":
        namespace = uuid5(NAMESPACE_OF_PROJECTS, project)
        return replace_once(r'^NAMESPACE = UUID\(".*"\)', f'NAMESPACE = UUID("{namespace}")', text)
    if path == "pyproject.toml":
        subjects = words.table["orders"].capitalize()
        about = f"{subjects} in, each handled once, and published through an outbox"
        text = replace_once(r'^name = ".*"', f'name = "{project}"', text)
        text = replace_once(r'^version = ".*"', 'version = "0.1.0"', text)
        return replace_once(r'^description = ".*"', f'description = "{about}"', text)
    return text


def replace_once(pattern: str, replacement: str, text: str) -> str:
    """Replace what must be there."""
    text, found = re.subn(pattern, replacement, text, count=1, flags=re.MULTILINE)
    if not found:
        raise RefusedError(f"the template has no line {pattern}: tools/copy does not fit it")
    return text


def drop_marked(text: str, parts: frozenset[str]) -> str:
    """Return the text without the lines that are marked for other copies, and without the marks."""
    kept = []
    dropping = False
    for line in text.splitlines(keepends=True):
        mark = MARK.search(line.rstrip("\n"))
        if mark is None:
            kept += [] if dropping else [line]
            continue
        if mark["closes"]:
            dropping = False
            continue
        wanted = mark["condition"].removeprefix("with ") in parts
        if mark["opens"]:
            dropping = not wanted
        elif wanted and not dropping:
            kept.append(line[: mark.start()] + "\n")
    return "".join(kept)


def drop_links(text: str, page: str, files: frozenset[str]) -> str:
    """Return a page without links to files that the copy does not have, and their rows."""

    def is_missing(target: str) -> bool:
        folder = posixpath.dirname(page)
        path = posixpath.normpath(posixpath.join(folder, target))
        if path in files:
            return False
        inside = f"{path}/"
        return not any(file.startswith(inside) for file in files)

    kept = []
    for line in text.splitlines(keepends=True):
        targets = [target for _, target in LINK.findall(line)]
        missing = {target for target in targets if is_missing(target)}
        if line.startswith(("| ", "- [")) and targets and missing == set(targets):
            continue
        kept.append(LINK.sub(lambda link: link[1] if link[2] in missing else link[0], line))  # noqa: B023
    return "".join(kept)


def format_programs(copy: Path, programs: list[Path]) -> str:
    """Do what `make format` does; where ruff is not installed, return the advice to do that."""
    if find_spec("ruff"):
        ruff = [sys.executable, "-m", "ruff"]
    elif found := shutil.which("ruff"):
        ruff = [found]
    else:
        return "ruff is not installed here, so lines may be too long: run `make format` in the copy"
    files = [str(file.relative_to(copy)) for file in programs]
    for command in (["check", "--fix", "--exit-zero"], ["format"]):
        line = [*ruff, *command, "--quiet", "--no-cache", *files]
        subprocess.run(line, cwd=copy, check=True, stdout=subprocess.DEVNULL)
    return ""


def allow_longest_line(settings: Path, programs: list[Path]) -> None:
    """Let the linter accept comments and strings that became too long by longer words."""
    lines = [line for file in programs for line in file.read_text().splitlines()]
    longest = max(len(line) for line in lines)
    if longest > 100:
        limit = -(-longest // 10) * 10
        comment = "# comments that the copy's longer words have lengthened"
        table = f"[tool.ruff.lint.pycodestyle]\nmax-line-length = {limit} {comment}\n\n"
        text = settings.read_text()
        settings.write_text(
            text.replace("[tool.ruff.lint.isort]", f"{table}[tool.ruff.lint.isort]")
        )
