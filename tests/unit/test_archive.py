"""The archive of classes: used where it fits, and nowhere else."""

from pathlib import Path

import pytest

from spark.archive import archive_of, use_archive
from spark.session import BOTH_COMPILERS, CONF, JAVA_OPTIONS, of_this_machine


def test_an_archive_is_used_if_it_is_there(tmp_path: Path) -> None:
    """Without one there is no option at all; with one, the JVM is told not to talk of it."""
    assert use_archive(tmp_path) == ""
    archive_of(tmp_path).touch()
    said = use_archive(tmp_path)
    assert said.startswith(f"-XX:SharedArchiveFile={archive_of(tmp_path)} -Xlog:disable")


def test_an_archive_belongs_to_its_jars_and_its_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder or another Java has an archive of its own."""
    monkeypatch.setenv("JAVA_HOME", "/java/17")
    first = archive_of(tmp_path / "a").name
    second = archive_of(tmp_path / "b").name
    monkeypatch.setenv("JAVA_HOME", "/java/21")
    third = archive_of(tmp_path / "a").name
    assert len({first, second, third}) == 3


def test_the_settings_of_this_machine_are_those_of_the_file() -> None:
    """Each line is one setting; only the JVM's options have something more at their end."""
    settings = of_this_machine("-Dmore=1")
    lines = [line for line in CONF.read_text().splitlines() if line.startswith("spark.")]
    assert len(settings) == len(lines)
    for line in lines:
        name = line.split()[0]
        more = " -Dmore=1" if name == JAVA_OPTIONS else ""
        assert f"{line.removeprefix(name).strip()}{more}" == settings[name]


def test_a_long_job_has_both_compilers() -> None:
    """The file names one of them: the JVM takes what is said last."""
    short, long = of_this_machine(""), of_this_machine("-Dmore=1", is_long=True)
    assert "-XX:TieredStopAtLevel=1" in short[JAVA_OPTIONS]
    assert BOTH_COMPILERS not in short[JAVA_OPTIONS]
    assert long[JAVA_OPTIONS].endswith(f" -Dmore=1 {BOTH_COMPILERS}")
