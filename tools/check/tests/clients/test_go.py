"""The rules of Go's clients, compared with the clients themselves: in `make prove`, where Go is."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline_check.clients import franz_go, sarama
from pipeline_check.clients.outcome import Outcome
from tests.clients.combinations import combinations

GO = shutil.which("go")
HERE = Path(__file__).with_name("go")
pytestmark = pytest.mark.skipif(
    not GO or not os.environ.get("PROVE"), reason="PROVE=1, and Go with its module proxy"
)
CHOICES: dict[str, list[str | None]] = {
    "enable.idempotence": [None, "true", "false"],
    "acks": [None, "all", "1", "0"],
    "retries": [None, "0", "1", "5"],
    "max.in.flight.requests.per.connection": [None, "1", "2", "5", "6"],
    "transactional.id": [None, "orders-1"],
}
RULES: dict[str, Callable[[dict[str, str]], Outcome]] = {
    "sarama": sarama.producer,
    "franz-go": franz_go.producer,
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """What both clients say of every combination."""
    folder = tmp_path_factory.mktemp("go")
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    command = [str(GO), "run", "."]
    lines = "\n".join(map(json.dumps, combinations(CHOICES)))
    run = subprocess.run(
        command, cwd=folder, input=lines, capture_output=True, text=True, timeout=900, check=True
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.parametrize("client", RULES)
def test_what_a_client_refuses_is_what_the_rules_refuse(
    said: list[dict[str, str]], client: str
) -> None:
    """Hundreds of configurations without a single disagreement, and some of either kind."""
    refused = 0
    for settings, answers in zip(combinations(CHOICES), said, strict=True):
        ours = bool(RULES[client](settings).refusals)
        assert ours == bool(answers[client]), (settings, answers[client])
        refused += ours
    assert 50 < refused < len(said) - 50
