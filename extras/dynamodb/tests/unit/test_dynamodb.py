"""The store on DynamoDB is an extra: who has not chosen it needs nothing of it."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ops.settings import ROOT, Settings
from ops.stack.part import parts, poms

WITHOUT = (
    "import sys; sys.modules['boto3'] = None; import service.__main__;"
    " from service.dedup import load_store; "
)


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Python where there is no boto3."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


def test_the_service_needs_no_boto3() -> None:
    """It is not in what goes into the service's image, and the default works without it."""
    assert "boto3" not in (ROOT / "service" / "requirements.lock").read_text()
    assert run("load_store('tracking').make_store(None)").returncode == 0


@pytest.mark.skipif(not find_spec("extras.dynamodb.store"), reason="the store is deleted")
def test_who_chooses_it_without_boto3_is_told_what_to_install() -> None:
    """One sentence with the setting and the way out, and no traceback."""
    found = run("load_store('dynamodb')")
    assert found.returncode == 2
    assert found.stderr.startswith("DEDUP_STORE=dynamodb: ")
    assert "pip install '.[dynamodb]'" in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize(
    ("changed", "there"),
    [({}, False), ({"dedup_store": "dynamodb"}, True), ({"extras": {"DYNAMODB": True}}, True)],
)
def test_dynamodb_local_is_a_part_only_when_it_is_chosen(
    tmp_path: Path, changed: dict[str, Any], there: bool
) -> None:
    """Without it nothing is fetched or started, and no process gets made-up keys."""
    settings = Settings(_env_file=None, run_dir=tmp_path, **changed)  # type: ignore[call-arg]
    assert ("dynamodb" in {part.name for part in parts(settings)}) == there
    assert any(pom.parent.name == "dynamodb" for pom in poms(settings)) == there
    assert ("AWS_ACCESS_KEY_ID" in settings.environment()) == there
