"""A real Prometheus that reads a running stack: what it collects, and alerts that fire for real."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import yaml

from ops.settings import ROOT
from ops.stack.stack import Stack
from tests.client import Sent, away, fresh, send, until, until_handled
from tests.load import orders
from tests.stacks import PORTS

pytestmark = pytest.mark.prove
OBSERVE = ROOT / "ops" / "observe"
GUARD_PORT = PORTS + 187
PROMETHEUS = f"http://127.0.0.1:{PORTS + 188}"
SOON = 120


@pytest.fixture(scope="module")
def guard(spoiled_stack: Stack) -> Iterator[None]:
    """A guard of the stack."""
    env = {**spoiled_stack.env(), "GUARD_PORT": str(GUARD_PORT), "ATTACH": "true"}
    with subprocess.Popen([sys.executable, "-m", "ops", "guard"], env=env, cwd=ROOT) as process:
        try:
            yield
        finally:
            process.kill()


@pytest.fixture(scope="module")
def prometheus(
    spoiled_stack: Stack, guard: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Prometheus with the shipped rules, which waits less long: one second for each ten."""
    folder = tmp_path_factory.mktemp("prometheus")
    rules = (OBSERVE / "alerts.yml").read_text()
    for waits, shorter in (("for: 10m", "for: 20s"), ("for: 5m", "for: 10s"), ("[3m]", "[30s]")):
        rules = rules.replace(waits, shorter)
    for minutes in ("for: 1m", "for: 2m", "for: 30s"):
        rules = rules.replace(minutes, "for: 6s")
    (folder / "alerts.yml").write_text(rules)
    ports = {"service": spoiled_stack.settings.service_port, "guard": GUARD_PORT}
    jobs = [
        {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
        for name, port in ports.items()
    ]
    times = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config = {"global": times, "rule_files": ["alerts.yml"], "scrape_configs": jobs}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    command = [
        "prometheus",
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address={PROMETHEUS.removeprefix('http://')}",
        "--log.level=error",
    ]
    with subprocess.Popen(command) as process:
        try:
            yield
        finally:
            process.kill()


def ask(path: str, **words: str) -> Any:
    """Return what Prometheus answers."""
    answer = requests.get(f"{PROMETHEUS}/api/v1/{path}", params=words, timeout=10)
    answer.raise_for_status()
    return answer.json()["data"]


def firing() -> set[str]:
    """Return the alerts that fire now."""
    alerts = ask("alerts")["alerts"]
    return {one["labels"]["alertname"] for one in alerts if one["state"] == "firing"}


def until_firing(alert: str) -> None:
    """Wait until an alert fires."""
    until(firing, lambda found: alert in found, SOON, f"{alert} does not fire")


def until_over(alert: str) -> None:
    """Wait until it does not."""
    until(firing, lambda found: alert not in found, SOON, f"{alert} is not over")


def test_every_panel_shows_something(spoiled: Stack, prometheus: None) -> None:
    """Each expression of the dashboard runs, and those of what every stack has return values."""
    orders(100)
    until_handled()
    until(
        lambda: ask("query", query="messages_total")["result"], bool, SOON, "nothing is collected"
    )
    dashboard = json.loads((OBSERVE / "grafana" / "dashboards" / "pipeline.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(expressions) > 10
    for expression in expressions:
        ask("query", query=expression)  # raises if Prometheus cannot read it
    for metric in ("lag_records", "slot_held_bytes", "outbox_waits_seconds", "guard_findings"):
        assert ask("query", query=metric)["result"], metric


def test_alerts_fire_when_a_part_is_away(spoiled: Stack, prometheus: None) -> None:
    """Connect, Postgres and the service, one after the other; each alert is over afterwards."""
    for part, alert in (
        ("connect", "SlotSilent"),
        ("connect", "PartDoesNotAnswer"),
        ("postgres", "OutageLasts"),
        ("service", "ServiceGone"),
    ):
        until_over(alert)
        with away(spoiled, part):
            orders(20)
            until_firing(alert)
        until_over(alert)
    until_handled()


def test_a_burst_of_dead_letters_fires(spoiled: Stack, prometheus: None) -> None:
    """More than a few records that are no orders."""
    send([Sent(fresh("bad"), f"{n}", b"no order") for n in range(200)])
    until_handled()
    until_firing("RefusedInABurst")
