"""Connectors brought to the worker, and not called ready before their task runs and their slot is read."""

import json
import time
from pathlib import Path
from typing import Any

import psycopg
import requests
from sqlalchemy import URL

from connect.settings import Settings

CONNECTORS = sorted(Path(__file__).parent.glob("*-outbox.json"))


class NotRunningError(Exception):
    """A connector that did not come up, and why."""


def register(settings: Settings) -> list[str]:
    """Send every connector file, then wait until each of them really reads its slot."""
    deadline = time.monotonic() + settings.connect_timeout_seconds
    for file in CONNECTORS:
        send(settings, file, deadline)
    for file in CONNECTORS:
        wait_until_running(settings, file, deadline)
    return [file.stem for file in CONNECTORS]


def connector_config(settings: Settings, file: Path) -> dict[str, str]:
    """The file as it stands, with the database and the secrets of this machine."""
    database = settings.database(file.stem)
    config: dict[str, str] = json.loads(file.read_text())
    return config | {
        "database.hostname": str(database.host),
        "database.port": str(database.port or 5432),
        "database.dbname": str(database.database),
        "database.password": f"${{dir:{settings.secrets_dir}:cdc_password}}",
    }


def send(settings: Settings, file: Path, deadline: float) -> None:
    """PUT is idempotent: an existing connector is updated; a worker that is still joining is asked again."""
    url = f"{settings.connect_url}/connectors/{file.stem}/config"
    while True:
        answer = requests.put(url, json=connector_config(settings, file), timeout=30)
        if answer.ok:
            return
        if answer.status_code not in (409, 500, 503) or time.monotonic() > deadline:
            raise NotRunningError(f"{file.stem}: Connect refused it: {answer.json().get('message', answer.text)}")
        time.sleep(0.2)


def wait_until_running(settings: Settings, file: Path, deadline: float) -> None:
    """Connector and task RUNNING, and the slot active; a FAILED task is an answer, not a reason to wait."""
    while True:
        state, trace = status(settings, file.stem)
        if state == "FAILED":
            raise NotRunningError(f"{file.stem}: {cause(trace)}")
        slot_active = state == "RUNNING" and is_slot_active(settings, file)
        if slot_active:
            return
        if time.monotonic() > deadline:
            raise NotRunningError(f"{file.stem}: state {state}, slot {'' if slot_active else 'not '}active")
        time.sleep(0.1)


def status(settings: Settings, connector: str) -> tuple[str, str]:
    """The worst state among the connector and its task, with its trace."""
    answer = requests.get(f"{settings.connect_url}/connectors/{connector}/status", timeout=10)
    document: dict[str, Any] = answer.json() if answer.ok else {}
    parts = [document.get("connector", {}), *document.get("tasks", [])]
    failed = next((part for part in parts if part.get("state") == "FAILED"), None)
    if failed:
        return "FAILED", str(failed.get("trace", ""))
    running = len(parts) > 1 and all(part.get("state") == "RUNNING" for part in parts)
    return ("RUNNING" if running else "UNASSIGNED"), ""


def cause(trace: str) -> str:
    """The last cause in a Java trace: the line that says what to mend."""
    causes = [line for line in trace.splitlines() if line and not line[0].isspace()]
    return causes[-1].removeprefix("Caused by: ") if causes else "no trace"


def is_slot_active(settings: Settings, file: Path) -> bool:
    """Ask as cdc itself, which also proves that its password works."""
    url: URL = settings.database(file.stem)
    password = (settings.secrets_dir / "cdc_password").read_text().strip()
    slot = json.loads(file.read_text())["slot.name"]
    with psycopg.connect(
        host=url.host, port=url.port, dbname=url.database, user="cdc", password=password, connect_timeout=5
    ) as connection:
        query = "select active from pg_replication_slots where slot_name = %s"
        row = connection.execute(query, [slot]).fetchone()
    return bool(row and row[0])
