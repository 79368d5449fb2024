"""The audit: every file read once, every producer judged, every check asked, and what is ignored set aside."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline_check.checks import CHECKS
from pipeline_check.clients.client import Version
from pipeline_check.connector.lint import lint
from pipeline_check.finding import Finding
from pipeline_check.ignores import Ignore, apply, complaints, inline, left_out
from pipeline_check.judgement import Judgement
from pipeline_check.producers import judgements
from pipeline_check.reading.block import Block
from pipeline_check.reading.read import load, read_text, reader_of
from pipeline_check.reading.unreadable import UnreadableError
from pipeline_check.rules import finding

SQL = re.compile(r"create\s+(table|publication)|grant\s", re.IGNORECASE)


@dataclass
class Looked:
    """What was read: blocks, files that could not be, and what should be ignored in them."""

    blocks: list[Block] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    ignores: list[Ignore] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    sql: list[str] = field(
        default_factory=list
    )  # of migrations: the tables that connectors are held against


@dataclass
class Audit:
    """All that there is to say."""

    files: int
    producers: list[Judgement]
    findings: list[Finding]
    ignored: dict[Finding, Ignore]

    def every(self) -> list[Finding]:
        """The producers' findings and the rest."""
        return [each for producer in self.producers for each in producer.findings] + self.findings


def look(files: Iterable[tuple[Path, bool]], ignores: Sequence[Ignore]) -> Looked:
    """Read every file that is not left out as a whole; what cannot be read is a finding, not an end."""
    looked = Looked(ignores=list(ignores))
    for path, named in files:
        name, reader = str(path), reader_of(path)
        if left_out(name, ignores):
            continue
        looked.files.append(name)
        try:
            if reader:
                text = load(path, name)
                looked.sql += [text] if path.suffix == ".py" and SQL.search(text) else []
                looked.blocks += read_text(reader, name, text)
                looked.ignores += inline(name, text)
            elif path.suffix == ".sql":
                looked.sql.append(load(path, name))
            elif named:
                raise UnreadableError(name, 1, "nobody here reads this kind of file")
        except UnreadableError as broken:
            fix = "mend it, or leave it out"
            looked.findings.append(
                finding("cannot-read", broken.file, broken.line, str(broken), fix)
            )
    return looked


def audit(looked: Looked, versions: Mapping[str, Version], more: Sequence[Finding] = ()) -> Audit:
    """Judge what was read; `more` are findings that others made."""
    producers = list(judgements(looked.blocks, versions))
    found_by_checks = (found for check in CHECKS for found in check(looked.blocks))
    rest = [*looked.findings, *found_by_checks, *lint(looked.blocks, looked.sql), *more]
    every = [found for producer in producers for found in producer.findings] + rest
    ignored = apply(every, looked.ignores)
    kept = [found for found in rest if found not in ignored]
    kept += complaints(looked.ignores, ignored.values(), looked.files)
    visible = [producer.without(set(ignored)) for producer in producers]
    return Audit(
        len(looked.files),
        visible,
        sorted(kept, key=lambda each: (each.file, each.line, each.id)),
        ignored,
    )
