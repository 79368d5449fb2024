"""README and docs: short, and true of this repository."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PROMISES = ROOT / "docs" / "promises.md"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("connect/*.md"),
        *ROOT.glob("extras/*/*.md"),
        *ROOT.glob("tools/*/*.md"),
    ]
)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
IS_TEMPLATE = (ROOT / "copier.yml").exists()
NOT_IN_A_COPY = (ROOT / "docs" / "copy.md", ROOT / "CHANGELOG.md")


def links(page: Path) -> list[tuple[str, str]]:
    """Return text and target of each link of a page, without those in code."""
    text = INLINE_CODE.sub("code", FENCED.sub("", page.read_text()))
    return LINK.findall(text)


def is_left_out(target: Path) -> bool:
    """Return whether the target belongs to what is missing on purpose.

    An extra may be deleted anywhere. A copy comes without whole folders, and without two pages.
    """
    parts = target.relative_to(ROOT).parts
    if parts[0] == "extras" and not ROOT.joinpath(*parts[:2]).exists():
        return True
    if IS_TEMPLATE:
        return False
    return not target.parent.exists() or target in NOT_IN_A_COPY


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as they are made where pages are shown."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


LINKS = [
    (page.relative_to(ROOT).as_posix(), text, target)
    for page in PAGES
    for text, target in dict.fromkeys(links(page))
    if not target.startswith(("http:", "https:", "mailto:"))
]
TESTS = [link for link in LINKS if re.search(r"/test_\w+\.py$", link[2]) and link[1].isidentifier()]


@pytest.mark.parametrize(("page", "text", "target"), LINKS)
def test_a_link_leads_somewhere(page: str, text: str, target: str) -> None:
    """Every link into the repository leads to a file that exists, and to a heading that it has."""
    path, _, anchor = target.partition("#")
    file = (ROOT / page).parent.joinpath(path).resolve() if path else ROOT / page
    if is_left_out(file):
        return
    assert file.exists(), text
    assert not anchor or anchor in anchors(file)


@pytest.mark.parametrize(("page", "name", "target"), TESTS)
def test_a_promise_links_to_a_test_that_exists(page: str, name: str, target: str) -> None:
    """The test that a promise names is in the file that it links to."""
    file = (ROOT / page).parent.joinpath(target).resolve()
    if is_left_out(file):
        return
    functions = {
        node.name
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert f"test_{name}" in functions


def test_every_promise_names_a_test_and_its_limit() -> None:
    """Each row of the tables of promises links to at least one test and says where it ends."""
    rows = [line for line in PROMISES.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    promises = [row for row in cells if row[0] not in {"promise", "---"}]
    assert len(promises) > 15
    for promise, tests, limit in promises:
        assert "/test_" in tests, promise
        assert limit, promise


def test_every_decision_is_whole_and_listed() -> None:
    """Each decision has its four sections, its number as its title's, and a line in the list."""
    records = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    listed = [target for _, target in links(ROOT / "docs" / "decisions" / "README.md")]
    assert [record.name for record in records] == listed
    for number, record in enumerate(records, 1):
        text = record.read_text()
        assert record.name.startswith(f"{number:04}-")
        assert text.startswith(f"# {number}. ")
        headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert headings == ["Context", "Decision", "Consequences", "Look at it again"]


def test_the_readme_is_one_page() -> None:
    """The README has at most 150 lines and 1,000 words."""
    text = README.read_text()
    assert len(text.splitlines()) <= 150
    assert len(text.split()) <= 1000
