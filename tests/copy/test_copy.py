"""A fresh copy, whatever it was asked to leave out, needs no edit."""

import itertools
import json
import os
import posixpath
import re
from pathlib import Path
from uuid import UUID

import pytest

from copying.task import RefusedError, check_topic, check_words, template_files
from copying.words import TEMPLATE, Words
from tests.copy.copies import EXTRAS, PAYMENTS, ROOT, Copy, copier, data, make_copy

# Everything there is to keep; each choice in `make prove`. A copy for payments keeps nothing.
ALL = [list(some) for n in range(len(EXTRAS) + 1) for some in itertools.combinations(EXTRAS, n)]
CHOICES = ALL if os.environ.get("PROVE") else [list(EXTRAS)]

# Other words than payments: one that sorts behind "rejected", and one that begins with a vowel.
TICKETS = {
    "project": "box-office",
    "subject": "ticket",
    "effect": "invoice",
    "accepted": "sold",
    "accept": "sell",
    "input_topic": "box-office.sales",
}


@pytest.mark.parametrize("keep", CHOICES, ids=lambda keep: "+".join(keep) or "nothing")
def test_a_copy_needs_no_edit(template: Path, cache: Path, tmp_path: Path, keep: list[str]) -> None:
    """With every choice of extras, lint and types hold, and all tests can be loaded."""
    copy = make_copy(template, tmp_path / "copy", cache, **TICKETS, keep=keep)
    lint = copy.make("lint")
    assert lint.code == 0, lint.output
    collected = copy.run("pytest", "--collect-only", "-qq")
    assert collected.code == 0, collected.output
    assert {file.parent.name for file in copy.path.glob("extras/*/extra.toml")} == set(keep)


@pytest.mark.prove  # those of payments are run by `make test`
def test_the_unit_tests_of_a_copy_pass(template: Path, cache: Path, tmp_path: Path) -> None:
    """With all extras, in other words, under another topic, the copy's own `make unit` passes."""
    copy = make_copy(template, tmp_path / "copy", cache, **TICKETS, keep=EXTRAS)
    unit = copy.make("unit")
    assert unit.code == 0, unit.output


@pytest.mark.prove
def test_a_copy_without_ops_needs_no_edit(template: Path, cache: Path, tmp_path: Path) -> None:
    """Without ops/, lint, unit tests and laws pass, and nothing names what is not there."""
    copy = make_copy(template, tmp_path / "copy", cache, **TICKETS, keep=EXTRAS, ops=False)
    done = copy.make("lint", "unit", "laws")
    assert done.code == 0, done.output
    assert not (copy.path / "ops").exists()
    for name in ("Makefile", "pyproject.toml", "compose.yaml"):
        assert not re.search(
            r"\bpipeline (up|demo)|\bops/|\bops\.cli", (copy.path / name).read_text()
        )


def test_a_copy_imports_its_own_files(payments: Copy) -> None:
    """In the tests' environment a copy's modules are its own, not the installed template's."""
    rooms = ["contract", "service", "connect", "migrations", "spark", "extras", "ops", "tests"]
    program = f"import {', '.join(rooms)}\nfor m in ({', '.join(rooms)}): print(m.__file__)"
    files = payments.run("python", "-c", program).output.split()
    assert [Path(file).parent for file in files] == [payments.path / room for room in rooms]


def test_a_copy_has_nothing_of_the_template_alone(payments: Copy) -> None:
    """Tools and the script that made the copy stay behind, and nothing speaks of them."""
    names = payments.git("ls-files").splitlines()
    assert len(names) <= 523  # what one has to look through
    assert not [name for name in names if name.startswith(("tools/", "tests/copy", "copier.yml"))]
    texts = {name: (payments.path / name).read_text() for name in names}
    own = re.compile(r"copy: (never|with|\})|\btools/(lab|copy)")
    assert {name for name, text in texts.items() if own.search(text)} == set()


def test_a_copy_is_in_its_own_words(payments: Copy) -> None:
    """No name, topic, file or sentence says order; SQL's `order by` is left."""
    names = payments.git("ls-files").splitlines()
    texts = {name: (payments.path / name).read_text() for name in names if ".lock" not in name}
    old = re.compile(r"(?i)\b(?:order|orders|fulfillments?|fulfill|fulfilled|order_id)\b(?! by\b)")
    left = {name: found for name, text in texts.items() if (found := old.findall(text + name))}
    for styled in ("spark/reporting/report.html.j2", "ops/page/assets/page.css"):
        left.pop(styled, None)  # paint-order, which is CSS
    assert left == {}
    assert (payments.path / "contract" / "payment.py").exists()
    assert (payments.path / "connect" / "booking-outbox.json").exists()


def test_a_link_of_a_copy_leads_somewhere(payments: Copy) -> None:
    """What was left out is not linked to, and README.md is one page of the copy's own."""
    names = [name for name in payments.git("ls-files").splitlines() if name.endswith(".md")]
    links = [
        (name, posixpath.normpath(posixpath.join(posixpath.dirname(name), target)))
        for name in names
        for target in re.findall(
            r"\]\(([^)\s:#]+)(?:#[^)]*)?\)", (payments.path / name).read_text()
        )
    ]
    assert [found for found in links if not (payments.path / found[1]).exists()] == []
    readme = (payments.path / "README.md").read_text()
    assert readme.startswith("# payments\n")
    assert len(readme.splitlines()) <= 150


def test_ids_are_derived_from_the_projects_name(payments: Copy) -> None:
    """The namespace is not the template's, and the same in every copy of this name."""
    pattern = re.compile(r'^NAMESPACE = UUID\("(.+)"\)', re.MULTILINE)
    [own] = pattern.findall((payments.path / "contract" / "names.py").read_text())
    [templates] = pattern.findall((ROOT / "contract" / "names.py").read_text())
    assert UUID(own).version == 5
    assert own != templates


def test_the_same_answers_make_the_same_copy(
    payments: Copy, template: Path, cache: Path, tmp_path: Path
) -> None:
    """A copy follows from template and answers alone: else every update would have conflicts."""
    again = make_copy(template, tmp_path / "again", cache)
    tree = "HEAD^{tree}"
    assert again.git("rev-parse", tree) == payments.git("rev-parse", tree)


def test_a_file_of_the_users_is_not_renamed(template: Path, cache: Path, tmp_path: Path) -> None:
    """What is in the folder already, and not the template's byte for byte, is left as it is."""
    folder = tmp_path / "copy"
    (folder / "service").mkdir(parents=True)
    (folder / "service" / "refund.py").write_text("order = 1\n")
    make_copy(template, folder, cache)
    assert (folder / "service" / "refund.py").read_text() == "order = 1\n"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"order": "record"}, "'record' is taken, by "),
        ({"fulfillment": "ledger"}, "'ledger' is taken, by "),
        ({"fulfilled": "refused"}, "'refused' is taken, by "),
        ({"order": "message"}, "'message' is taken, by "),
        ({"order": "user"}, "'user' is reserved in SQL: choose another"),
    ],
)
def test_a_word_that_is_taken_is_refused(
    template: Path, changes: dict[str, str], sentence: str
) -> None:
    """The refusal names the files of this repository that use the word for something else."""
    words = Words(dict.fromkeys(TEMPLATE.values(), "x") | changes, "some.events")
    with pytest.raises(RefusedError, match=sentence):
        check_words(template, template_files(template), words)


def test_an_input_topic_that_is_taken_is_refused(template: Path) -> None:
    """What comes in cannot come on a topic that something is published on."""
    with pytest.raises(RefusedError, match=r"'audit\.events' is a topic of the template's"):
        check_topic(template, "audit.events")


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ({"subject": "record"}, "'record' is taken, by "),
        ({"project": "Pay Ments"}, "lower-case letters, digits and hyphens, please"),
        ({"subject": "big order"}, "one word of lower-case letters, please"),
        ({"input_topic": "what/ever"}, "lower-case letters, digits, dots and hyphens, please"),
    ],
    ids=json.dumps,
)
def test_a_bad_answer_is_refused_in_a_sentence(
    template: Path, tmp_path: Path, answers: dict[str, str], sentence: str
) -> None:
    """Copier shows the reason, and leaves nothing behind."""
    done = copier("copy", *data(PAYMENTS | answers), str(template), str(tmp_path / "copy"))
    assert done.code != 0
    assert sentence in done.output
    assert not (tmp_path / "copy").exists()


def test_a_readme_of_the_users_is_not_overwritten(template: Path, tmp_path: Path) -> None:
    """The first copy writes over nothing: it asks for a new folder."""
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / "README.md").write_text("mine\n")
    done = copier("copy", *data(PAYMENTS), str(template), str(folder))
    assert done.code != 0
    assert "README.md: here already; copy into a new folder" in done.output
    assert (folder / "README.md").read_text() == "mine\n"


def test_without_trust_nothing_is_written(template: Path, tmp_path: Path) -> None:
    """Copier runs the script only for those who say --trust."""
    done = copier("copy", *data(PAYMENTS), str(template), str(tmp_path / "copy"), trust=False)
    assert done.code == 4
    assert "unsafe feature" in done.output
    assert not (tmp_path / "copy").exists()
