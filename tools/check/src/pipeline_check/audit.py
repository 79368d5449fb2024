"""The audit: read every file once, judge the producers, check the rest, and apply the ignores."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline_check.clients.client import Version
from pipeline_check.connector.lint import lint
from pipeline_check.ignores import Ignore, apply_ignores, find_useless, is_left_out, read_comments
from pipeline_check.reading.block import Block
from pipeline_check.reading.read import load, read_text, reader_of
from pipeline_check.reading.unreadable import UnreadableError
from pipeline_check.rules.as_built import as_built
from pipeline_check.rules.catalog import make_finding
from pipeline_check.rules.consumers import find_in_consumers
from pipeline_check.rules.cross_file import find_across_files
from pipeline_check.rules.finding import Finding
from pipeline_check.rules.judge import Judgement, Lookup, look_nowhere
from pipeline_check.rules.producers import judge_producers
from pipeline_check.rules.topics import find_in_topics

SQL = re.compile(r"create\s+(table|publication)|grant\s", re.IGNORECASE)


@dataclass
class Sources:
    """What was read: blocks, SQL, files that cannot be read, and what is to be ignored in them."""

    blocks: list[Block] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    ignores: list[Ignore] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    sql: list[str] = field(default_factory=list)  # of migrations: the tables of the connectors


@dataclass
class Audit:
    """The result of an audit."""

    files: int
    producers: list[Judgement]
    findings: list[Finding]
    ignored: dict[Finding, Ignore]

    def every(self) -> list[Finding]:
        """Return the findings about producers, and then the others."""
        of_producers = [each for producer in self.producers for each in producer.findings]
        return of_producers + self.findings


def read_sources(files: Iterable[tuple[Path, bool]], ignores: Sequence[Ignore]) -> Sources:
    """Read every file that is not left out; a file that cannot be read is a finding."""
    sources = Sources(ignores=list(ignores))
    for path, named in files:
        if is_left_out(str(path), ignores):
            continue
        sources.files.append(str(path))
        try:
            read_source(sources, path, named=named)
        except UnreadableError as broken:
            finding = make_finding(
                "cannot-read",
                broken.file,
                broken.line,
                str(broken),
                "fix it, or leave it out",
            )
            sources.findings.append(finding)
    return sources


def read_source(sources: Sources, path: Path, *, named: bool) -> None:
    """Read one file; a kind of file that nothing reads is an error if the user named it."""
    name = str(path)
    reader = reader_of(path)
    if reader:
        text = load(path, name)
        if path.suffix == ".py" and SQL.search(text):
            sources.sql.append(text)
        sources.blocks += read_text(reader, name, text)
        sources.ignores += read_comments(name, text)
    elif path.suffix == ".sql":
        sources.sql.append(load(path, name))
    elif named:
        raise UnreadableError(name, 1, "nothing here reads this kind of file")


def audit(
    sources: Sources,
    versions: Mapping[str, Version],
    more: Sequence[Finding] = (),
    lookup: Lookup = look_nowhere,
) -> Audit:
    """Judge what was read; `more` are findings from elsewhere."""
    blocks = [as_built(block, lookup) for block in sources.blocks]
    producers = list(judge_producers(blocks, versions, lookup))
    others = [
        *sources.findings,
        *find_in_consumers(blocks),
        *find_in_topics(blocks),
        *find_across_files(blocks),
        *lint(blocks, sources.sql),
        *more,
    ]
    of_producers = [found for producer in producers for found in producer.findings]
    ignored = apply_ignores(of_producers + others, sources.ignores)
    kept = [found for found in others if found not in ignored]
    kept += find_useless(sources.ignores, ignored.values(), sources.files)
    kept.sort(key=lambda each: (each.file, each.line, each.id))
    visible = [producer.without(set(ignored)) for producer in producers]
    return Audit(len(sources.files), visible, kept, ignored)
