"""SARIF as code scanning takes it, held against what the specification says of each object."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline_check.command import app
from tests.clients.corpus import CORPUS

# Section 3 of SARIF 2.1.0, for the objects that are printed: each property with what it holds, the
# required ones first. An object has no others.
REQUIRED: dict[str, dict[str, str]] = {
    "log": {"version": "2.1.0", "runs": "run[]"},  # 3.13
    "run": {"tool": "tool"},  # 3.14
    "tool": {"driver": "component"},  # 3.18
    "component": {"name": "text"},  # 3.19
    "descriptor": {"id": "text"},  # 3.49
    "result": {"message": "message"},  # 3.27
    "message": {"text": "text"},  # 3.11
    "multiformat": {"text": "text"},  # 3.12
    "location": {},  # 3.28
    "physical": {"artifactLocation": "artifact"},  # 3.29
    "artifact": {"uri": "reference"},  # 3.4
    "region": {"startLine": "positive"},  # 3.30
    "suppression": {"kind": "inSource|external"},  # 3.35
}
OPTIONAL: dict[str, dict[str, str]] = {
    "log": {"$schema": "uri"},
    "run": {"results": "result[]"},
    "component": {"version": "text", "rules": "descriptor[]", "informationUri": "uri"},
    "descriptor": {"shortDescription": "multiformat", "helpUri": "uri"},
    "result": {
        "ruleId": "text",
        "level": "none|note|warning|error",
        "locations": "location[]",
        "suppressions": "suppression[]",
    },
    "location": {"physicalLocation": "physical"},
    "physical": {"region": "region"},
    "suppression": {"justification": "text"},
}
ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+")
# RFC 3986: what may stand in a reference; everything else is percent-encoded.
REFERENCE = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-F]{2})+")


def faults(kind: str, value: Any, path: str = "") -> list[str]:
    """Return where a value is not what the specification says."""
    if kind.endswith("[]"):
        if not isinstance(value, list):
            return [f"{path} is no list"]
        found = [faults(kind[:-2], each, f"{path}/{place}") for place, each in enumerate(value)]
        return [fault for each in found for fault in each]
    if kind not in REQUIRED:
        return [] if is_plain(kind, value) else [f"{path} = {value!r} is no {kind}"]
    if not isinstance(value, dict):
        return [f"{path} is no object"]
    known = REQUIRED[kind] | OPTIONAL.get(kind, {})
    missing = [f"{path}/{name} is missing" for name in REQUIRED[kind].keys() - value.keys()]
    strange = [f"{path}/{name} is no property" for name in value.keys() - known.keys()]
    inside = [
        fault
        for name, each in value.items()
        if name in known
        for fault in faults(known[name], each, f"{path}/{name}")
    ]
    return missing + strange + inside


def is_plain(kind: str, value: Any) -> bool:
    """Return whether a text or a number is of its kind."""
    if kind == "positive":
        return isinstance(value, int) and value > 0
    if not isinstance(value, str) or not value:
        return False
    if kind == "uri":
        return ABSOLUTE.fullmatch(value) is not None
    if kind == "reference":
        return REFERENCE.fullmatch(value) is not None
    return kind == "text" or value in kind.split("|")


def printed(*arguments: str) -> dict[str, Any]:
    """Return the document that an audit prints."""
    document: dict[str, Any] = json.loads(CliRunner().invoke(app, ["--sarif", *arguments]).stdout)
    return document


def test_all_of_the_corpus_is_printed_as_the_specification_wants_it() -> None:
    """Every rule and every kind of finding, also of absolute paths, and no rule described twice."""
    document = printed(str(CORPUS))
    assert faults("log", document) == []
    run = document["runs"][0]
    rules = [each["id"] for each in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert {each["ruleId"] for each in run["results"]} == set(rules)
    assert any("suppressions" in each for each in run["results"])


@pytest.mark.parametrize("name", ['a "b" ä%.properties', "a#b?.properties", "a:b.properties"])
def test_the_name_of_a_file_is_a_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What must not stand in a URI is percent-encoded, so that its reader finds the file."""
    (tmp_path / name).write_text("bootstrap.servers=kafka:9092\nacks=1\n")
    monkeypatch.chdir(tmp_path)
    document = printed(".")
    assert document["runs"][0]["results"]
    assert faults("log", document) == []


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("artifact", {"uri": "a b"}),
        ("artifact", {"uri": ""}),
        ("region", {"startLine": 0}),
        ("result", {"ruleId": "a"}),
        ("result", {"message": {"text": "a"}, "level": "bad"}),
        ("message", {"text": "a", "more": "b"}),
        ("descriptor", {"id": "a", "helpUri": ""}),
        ("log", {"version": "2.0.0", "runs": []}),
        ("run[]", {}),
    ],
)
def test_control_a_fault_is_seen(kind: str, value: Any) -> None:
    """What is missing, strange, empty or out of range."""
    assert faults(kind, value)
