"""Sources in other languages; what is said of each is in the corpus of the clients."""

from pathlib import Path

import pytest

from pipeline_check.audit import audit, read_sources
from pipeline_check.reading.read import read
from pipeline_check.reading.sources import trees
from pipeline_check.walk import files

JAVA = "class A {{ Object a = new KafkaProducer<>(Map.of({settings})); }}"


def test_without_the_extra_a_note_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source is never silently left out, and is no error either."""
    tmp_path.joinpath("A.java").write_text(JAVA.format(settings='"acks", "1"'))
    monkeypatch.setitem(trees.GRAMMARS, ".java", ("no_such_grammar", "language"))
    trees.parser.cache_clear()
    found = audit(read_sources(files([tmp_path]), []), {})
    trees.parser.cache_clear()
    assert [each.id for each in found.every()] == ["client-not-judged"]
    assert "install pipeline-check[sources]" in found.every()[0].message


def test_control_with_the_extra_it_is_judged(tmp_path: Path) -> None:
    """The same file, with the grammar."""
    tmp_path.joinpath("A.java").write_text(JAVA.format(settings='"acks", "1"'))
    found = audit(read_sources(files([tmp_path]), []), {})
    assert [each.verdict for each in found.producers] == ["not_idempotent"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.java", "class A { new KafkaProducer<>("),
        ("a.kt", "fun f( = KafkaProducer<"),
        ("a.go", "package a\nfunc f() { sarama.NewSyncProducer("),
        ("a.js", "kafka.producer({ ...{ } } kafkajs"),
        ("a.ts", "const x: = kafka.producer(<>) // kafkajs"),
    ],
)
def test_a_source_that_is_none_ends_in_no_traceback(tmp_path: Path, name: str, text: str) -> None:
    """Half a file: something is said of it, or nothing."""
    file = tmp_path / name
    file.write_text(text)
    audit(read_sources(files([file]), []), {})


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        ('"acks", "all"', "idempotent"),
        ('ProducerConfig.ACKS_CONFIG, "0"', "not_idempotent"),
        ('"acks", System.getenv("ACKS")', "depends"),
        ('"acks", System.getProperty("acks", "all")', "idempotent"),
        ('"enable.idempotence", true, "acks", "1"', "refused"),
    ],
)
def test_a_map_in_a_call_is_read(tmp_path: Path, settings: str, verdict: str) -> None:
    """Keys as text or as constants; values as literals, or from outside with a default."""
    file = tmp_path / "A.java"
    file.write_text(JAVA.format(settings=settings))
    [producer] = audit(read_sources(files([file]), []), {"java": (4, 3, 1)}).producers
    assert producer.verdict == verdict


def test_a_change_counts_only_before_the_call_and_where_it_runs(tmp_path: Path) -> None:
    """What is put in later, or under a condition, is not certain to be there."""
    file = tmp_path / "A.java"
    file.write_text(
        "class A { void f(boolean safe) {\n"
        "  Properties p = new Properties();\n"
        '  if (safe) { p.put("acks", "1"); }\n'
        "  new KafkaProducer<>(p);\n"
        '  p.put("retries", 0);\n'
        "} }\n"
    )
    [block] = read(file)
    assert not block.settings["acks"].known
    assert "retries" not in block.settings


def test_a_folder_is_only_taken_for_a_tools_beside_a_build(tmp_path: Path) -> None:
    """`adapters/out` is somebody's code, `out` beside a package.json is not."""
    for folder in (tmp_path / "out", tmp_path / "src" / "adapters" / "out"):
        folder.mkdir(parents=True)
        folder.joinpath("A.java").write_text(JAVA.format(settings='"acks", "1"'))
    tmp_path.joinpath("package.json").write_text("{}")
    found = [path.relative_to(tmp_path).as_posix() for path, _ in files([tmp_path])]
    assert found == ["package.json", "src/adapters/out/A.java"]
