"""Whatever a file holds, the audit ends soon, and names the line that it cannot read."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline_check.audit import audit, read_sources
from pipeline_check.output import as_json, as_sarif
from pipeline_check.reading.read import READERS
from tests.clients.corpus import CORPUS

TEXTS = [
    file.read_text()
    for file in sorted(CORPUS.rglob("*"))
    if file.is_file() and file.name != "expected.yaml"
]
SUFFIXES = sorted(READERS)
PIECES = [*"{}[]\"'\\:=,#&*!|>%@`\t\n\0-?", "", "\ud800", "${", "<<: *a"]
MONSTERS = [
    *(
        "[" * 100_000,
        "{" * 100_000,
        "- " * 50_000,
        '{"kafka": ' * 20_000,
        "(" * 50_000,
        "-" * 100_000,
        "x" * 900_000,
    ),
    *(
        "x = " + "1 + " * 50_000 + "1",
        "\\\n" * 100_000,
        "? " * 50_000,
        "!" * 90_000,
        "x = {**" * 5000,
    ),
    "a: &a [*a, *a]\n" * 99,
]
LONGEST = 5  # seconds for one small file, on a busy machine
CANNOT = re.compile(r"cannot read .+ at line \d+: .+", re.DOTALL)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A text of the corpus with pieces cut out, doubled and put in."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 30)))
        piece = draw(st.sampled_from([text[start:end] * 2, *PIECES]))
        text = text[:start] + piece + text[end:]
    return text


def check(folder: Path, suffix: str, content: bytes) -> None:
    """Audit one file, and see that it ends, in time, with something that can be printed."""
    file = folder / f"fuzzed{suffix}"
    file.write_bytes(content)
    started = time.monotonic()
    found = audit(read_sources([(file, True)], []), {})
    assert as_json(found)
    assert as_sarif(found)
    assert time.monotonic() - started < LONGEST
    for each in found.every():
        assert each.id != "cannot-read" or CANNOT.match(each.message), each.message


FIXED = settings(
    derandomize=True,
    deadline=None,
    max_examples=400,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@FIXED
@given(content=mutated(), suffix=st.sampled_from(SUFFIXES))
def test_a_damaged_file_is_judged_or_named(content: str, suffix: str, tmp_path: Path) -> None:
    """Cut, doubled and mixed up files of every format, read as every format."""
    check(tmp_path, suffix, content.encode("utf-8", "surrogatepass"))


@FIXED
@given(content=st.binary(max_size=400), suffix=st.sampled_from(SUFFIXES))
def test_any_bytes_are_judged_or_named(content: bytes, suffix: str, tmp_path: Path) -> None:
    """Bytes that are no text, behind a word that makes the file worth reading."""
    check(tmp_path, suffix, b"kafka " + content)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("text", MONSTERS, ids=lambda text: f"{text[:6]!r}...")
def test_a_monster_ends_soon(text: str, suffix: str, tmp_path: Path) -> None:
    """Nested a hundred thousand deep, or one endless line: neither a crash nor a hang."""
    check(tmp_path, suffix, b"kafka=1\n" * (suffix != ".json") + text.encode())
    check(tmp_path, suffix, text.encode() + b" kafka")


def test_aliases_do_not_multiply(tmp_path: Path) -> None:
    """The YAML that is small to write and endless to expand."""
    lines = ["a0: &a0 [kafka, kafka]"] + [
        f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)
    ]
    check(tmp_path, ".yaml", "\n".join(lines).encode())
