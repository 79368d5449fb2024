"""Two thousand files are audited while you wait, and the command itself is there at once."""

import subprocess
import sys
import time
from pathlib import Path

from ops.check.audit import audit, look
from ops.check.walk import files
from tests.check.conftest import Tell
from tests.check.corpus import CORPUS

FILES = 2000
HEAVY = ["pydantic", "sqlalchemy", "pyspark", "confluent_kafka", "psycopg", "psutil", "requests", "yaml"]
LIMIT = 10  # seconds, as promised


def test_two_thousand_files_take_less_than_ten_seconds(tmp_path: Path, told: Tell) -> None:
    """The corpus, copied until there are two thousand, every file of it worth reading."""
    originals = [file for file in sorted(CORPUS.rglob("*")) if file.is_file() and file.name != "expected.yaml"]
    for number in range(FILES):
        original = originals[number % len(originals)]
        folder = tmp_path / f"module{number // len(originals)}" / original.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / original.name).write_bytes(original.read_bytes())
    started = time.monotonic()
    found = audit(look(files([tmp_path]), []), {})
    took = time.monotonic() - started
    told(f"{found.files} files, {len(found.producers)} producers in {took:.1f} s: {found.files / took:.0f} files/s")
    assert found.files == FILES
    assert took < LIMIT


def test_the_help_needs_none_of_the_clients(tmp_path: Path) -> None:
    """`pipeline check --help` imports nothing heavy: that is what makes it quick, whatever the machine."""
    code = f"import sys, ops.cli; print([name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "[]"


def test_a_static_audit_needs_only_yaml(tmp_path: Path) -> None:
    """An audit imports a YAML parser, and no client, no database, no Spark."""
    script = tmp_path / "run.py"
    script.write_text(
        "import sys\nfrom ops.cli import app\n"
        f"try:\n    app(['check', {str(CORPUS)!r}, '--json'])\n"
        f"except SystemExit:\n    print([n for n in {HEAVY} if n in sys.modules], file=sys.stderr)\n"
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=60)
    assert run.stderr.strip() == "['yaml']"
