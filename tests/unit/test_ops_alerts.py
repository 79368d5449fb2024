"""Each alert fires when it should and is silent otherwise, and has its section in the runbook."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ops.guard.metrics import NAMES
from tests.unit.compose_file import ROOT

OBSERVE = ROOT / "ops" / "observe"
RULES = OBSERVE / "alerts.yml"
MINUTES = 14
# Where all is well: Prometheus' own short form, a value for each 15 s of a quarter of an hour.
WELL = {
    'up{job="service", instance="a"}': "1x60",
    'lag_records{partition="0"}': "10x60",
    'messages_total{outcome="fulfilled"}': "0+100x60",
    'messages_total{outcome="audit_refused"}': "3x60",
    "retries_total": "5x60",
    "parked_records": "70x60",
    "parking_limit_records": "100x60",
    "guard_last_look_timestamp_seconds": "0+15x60",
    **{f'guard_findings{{name="{name}"}}': "0x60" for name in NAMES},
    "landing_lag_records": "500x60",
    "pulse_interval_seconds": "5x60",
    "pulse_last_timestamp_seconds": "0+15x60",
    "reconcile_last_timestamp_seconds": "1x60",
    "reconcile_last_good_timestamp_seconds": "1x60",
    "retention_last_timestamp_seconds": "1x60",
    "landing_landed_records": "0+100x60",
}
# What is otherwise when an alert must fire, and nothing else.
BROKEN = {
    "ServiceGone": {'up{job="service", instance="a"}': "0x60"},
    "ServiceStandsStill": {'messages_total{outcome="fulfilled"}': "100x60"},
    "OutageLasts": {"retries_total": "0+3x60"},
    "RefusedInABurst": {'guard_findings{name="refused"}': "1x60"},
    "AuditRefused": {'messages_total{outcome="audit_refused"}': "3x30 4x30"},
    "ParkingFillsUp": {"parked_records": "81x60"},
    "GuardGone": {"guard_last_look_timestamp_seconds": "0x60"},
    "PartDoesNotAnswer": {'guard_findings{name="no_answer"}': "1x60"},
    "TaskGivenUp": {'guard_findings{name="task_given_up"}': "1x60"},
    "TaskPaused": {'guard_findings{name="task_paused"}': "1x60"},
    "SlotSilent": {'guard_findings{name="slot_silent"}': "1x60"},
    "EventsLate": {'guard_findings{name="events_late"}': "1x60"},
    "SlotFilling": {'guard_findings{name="slot_filling"}': "1x60"},
    "SlotLost": {'guard_findings{name="slot_lost"}': "2x60"},
    "PublicationMissing": {'guard_findings{name="publication_missing"}': "1x60"},
    "PulseLate": {"pulse_last_timestamp_seconds": "0x60"},
    "ReconciliationNotGood": {"reconcile_last_timestamp_seconds": "1x30 2x30"},
    "ReconciliationOverdue": {
        "reconcile_last_timestamp_seconds": "-95000x60",
        "reconcile_last_good_timestamp_seconds": "-95000x60",
    },
    "RetentionOverdue": {"retention_last_timestamp_seconds": "-700000x60"},
    "LandingStandsStill": {"landing_landed_records": "100x60"},
}


def rules() -> list[dict[str, Any]]:
    """Return every alert."""
    [group] = yaml.safe_load(RULES.read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def promtool(*words: str) -> subprocess.CompletedProcess[str]:
    """Run Prometheus' own tool."""
    if not shutil.which("promtool"):
        pytest.skip("there is no promtool: install Prometheus (Debian: apt install prometheus)")
    return subprocess.run(["promtool", *words], capture_output=True, text=True, check=False)


def firing(folder: Path, series: dict[str, str], expected: list[str]) -> str:
    """Return nothing if these alerts fire at the end and no others; else what promtool says."""
    names = "|".join(expected) or "none"
    of_expected = f'count(ALERTS{{alertname=~"{names}", alertstate="firing"}})'
    of_others = f'count(ALERTS{{alertname!~"{names}", alertstate="firing"}})'
    all_of_them = [{"labels": "{}", "value": len(expected)}] if expected else []
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "15s",
        "tests": [
            {
                "interval": "15s",
                "input_series": [{"series": name, "values": of} for name, of in series.items()],
                "promql_expr_test": [
                    {"expr": of_expected, "eval_time": f"{MINUTES}m", "exp_samples": all_of_them},
                    {"expr": of_others, "eval_time": f"{MINUTES}m", "exp_samples": []},
                ],
            }
        ],
    }
    file = folder / "test.yml"
    file.write_text(json.dumps(test))
    done = promtool("test", "rules", str(file))
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_the_files_of_prometheus_are_right() -> None:
    """As its own tool says."""
    done = promtool("check", "config", "--syntax-only", str(OBSERVE / "prometheus.yml"))
    assert done.returncode == 0, done.stderr
    done = promtool("check", "rules", str(RULES))
    assert done.returncode == 0, done.stderr


def test_when_all_is_well_nothing_fires(tmp_path: Path) -> None:
    """Orders and records wait, but something moves."""
    assert firing(tmp_path, WELL, []) == ""


@pytest.mark.parametrize("alert", BROKEN)
def test_each_alert_fires_alone(tmp_path: Path, alert: str) -> None:
    """One thing is otherwise than where nothing fires."""
    assert firing(tmp_path, WELL | BROKEN[alert], [alert]) == ""


@pytest.mark.parametrize("missing", ["up", "guard_last_look_timestamp_seconds"])
def test_what_is_not_there_is_missed(tmp_path: Path, missing: str) -> None:
    """A service or a guard that was never started has no metric at all."""
    left = {name: of for name, of in WELL.items() if not name.startswith(missing)}
    alert = {"up": "ServiceGone"}.get(missing, "GuardGone")
    assert firing(tmp_path, left, [alert]) == ""


def test_each_alert_is_tried_and_has_its_section() -> None:
    """Its link leads to a heading of its own name, and each says the same four things."""
    names = [rule["alert"] for rule in rules()]
    assert sorted(names) == sorted(BROKEN)
    text = (ROOT / "docs" / "runbook.md").read_text()
    sections = dict(re.findall(r"^## (\w+)\n\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert list(sections) == names
    for rule in rules():
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
        steps = re.findall(r"^- \*\*(\w+)\*\*:", sections[rule["alert"]], re.MULTILINE)
        assert steps == ["Seen", "Means", "Do", "Over"], rule["alert"]


def test_each_finding_of_the_guard_has_an_alert() -> None:
    """But one: a task that has failed is restarted, and that is said in a metric of its own."""
    asked = set(re.findall(r'guard_findings\{name="(\w+)"\}', RULES.read_text()))
    assert asked == set(NAMES) - {"task_failed"}
