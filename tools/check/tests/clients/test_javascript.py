"""The rules of kafkajs, compared with kafkajs itself: in `make prove`, where Node is."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline_check.clients import kafkajs
from tests.clients.combinations import combinations

NPM = shutil.which("npm")
NODE = shutil.which("node")
HERE = Path(__file__).with_name("javascript")
pytestmark = pytest.mark.skipif(
    not NPM or not NODE or not os.environ.get("PROVE"), reason="PROVE=1, and Node with npm"
)
CHOICES: dict[str, list[str | None]] = {
    "enable.idempotence": [None, "true", "false"],
    "acks": [None, "all", "1", "0"],
    "retries": [None, *map(str, range(12))],
}


def test_what_kafkajs_refuses_is_what_the_rules_refuse(tmp_path: Path) -> None:
    """More than a hundred configurations without a disagreement, and some of either kind."""
    shutil.copytree(HERE, tmp_path, dirs_exist_ok=True)
    install = [str(NPM), "install", "--no-audit", "--no-fund", "--silent"]
    subprocess.run(install, cwd=tmp_path, check=True, timeout=300)
    lines = "\n".join(map(json.dumps, combinations(CHOICES)))
    run = subprocess.run(
        [str(NODE), "compare.js"],
        cwd=tmp_path,
        input=lines,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    said = [json.loads(line)["kafkajs"] for line in run.stdout.splitlines()]
    refused = 0
    for settings, answer in zip(combinations(CHOICES), said, strict=True):
        ours = bool(kafkajs.producer(settings).refusals)
        assert ours == bool(answer), (settings, answer)
        refused += ours
    assert 10 < refused < len(said) - 10
