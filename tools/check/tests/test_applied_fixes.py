"""Every fix of the corpus is applied to its own case, and what comes out is audited again."""

from dataclasses import replace

import pytest

from pipeline_check.audit import audit, read_sources
from pipeline_check.reading.block import Block, Setting
from pipeline_check.rules.edit import Edit, edits_of
from pipeline_check.rules.finding import Finding, Severity
from pipeline_check.walk import files
from tests.clients.corpus import CORPUS, EXPECTED

LITERALS: dict[str, object] = {"true": True, "false": False}


def with_edits(block: Block, edits: tuple[Edit, ...]) -> Block:
    """Return a block as it is after the edits that are for it."""
    settings = dict(block.settings)
    for edit in edits:
        if (edit.file, edit.block_line) == (block.file, block.line):
            literal = LITERALS.get(edit.value, edit.value)
            literal = int(edit.value) if edit.value.isdigit() else literal
            settings[edit.setting] = Setting(edit.value, edit.line or block.line, literal=literal)
    return replace(block, settings=settings)


def fixable() -> dict[str, Finding]:
    """Return every finding whose fix is more than a text, by case, place and rule."""
    found = {}
    for case in sorted(EXPECTED):
        sources = read_sources(files([CORPUS / case]), [])
        for each in audit(sources, {}).every():
            edits = edits_of(each.fix)
            if edits:
                found[f"{case}:{edits[0].block_line}:{each.line}:{each.id}"] = each
    return found


FIXABLE = fixable()


@pytest.mark.parametrize("name", FIXABLE)
def test_a_fix_mends_its_finding_and_breaks_nothing(name: str) -> None:
    """The finding is gone from its block, and nothing is worse than before."""
    finding = FIXABLE[name]
    sources = read_sources(files([CORPUS / name.partition(":")[0]]), [])
    before = audit(sources, {}).every()
    edits = edits_of(finding.fix)
    sources.blocks = [with_edits(block, edits) for block in sources.blocks]
    after = audit(sources, {}).every()
    assert count(after, finding.id) < count(before, finding.id)
    for rule in {each.id for each in after if each.severity == Severity.ERROR}:
        assert count(after, rule) <= count(before, rule), rule


def count(found: list[Finding], rule: str) -> int:
    """Return how often a rule was broken."""
    return sum(each.id == rule for each in found)


def test_there_are_many_to_try() -> None:
    """Most of the corpus was written to be found fault with."""
    assert len(FIXABLE) > 100


def test_control_another_value_mends_nothing() -> None:
    """The same edits with the value that was there before leave the finding where it is."""
    name = next(each for each in FIXABLE if each.startswith("java-acks-one.properties"))
    edits = tuple(edit._replace(value="1") for edit in edits_of(FIXABLE[name].fix))
    sources = read_sources(files([CORPUS / "java-acks-one.properties"]), [])
    sources.blocks = [with_edits(block, edits) for block in sources.blocks]
    found = audit(sources, {}).every()
    assert found
    assert all(each.severity == Severity.ERROR for each in found)
