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
        while missing := what_is_missing(settings, file):
            if time.monotonic() > deadline:
                raise NotRunningError(f"{file.stem}: {missing}")
            time.sleep(0.1)
    return [file.stem for file in CONNECTORS]


def send(settings: Settings, file: Path, deadline: float) -> None:
    """PUT is idempotent: an existing connector is updated; a worker that is still joining is asked again.

    The file is sent as it stands, with the database and the secrets of this machine.
    """
    database = settings.database(file.stem)
    config = json.loads(file.read_text()) | {
        "database.hostname": database.host,
        "database.port": str(database.port or 5432),
        "database.dbname": database.database,
        "database.password": f"${{dir:{settings.secrets_dir}:cdc_password}}",
    }
    while True:
        answer = requests.put(f"{settings.connect_url}/connectors/{file.stem}/config", json=config, timeout=30)
        if answer.ok:
            return
        if answer.status_code not in (409, 500, 503) or time.monotonic() > deadline:
            raise NotRunningError(f"{file.stem}: Connect refused it: {answer.json().get('message', answer.text)}")
        time.sleep(0.2)


def what_is_missing(settings: Settings, file: Path) -> str:
    """Nothing, once connector and task are RUNNING and the slot is active; FAILED is an answer at once."""
    answer = requests.get(f"{settings.connect_url}/connectors/{file.stem}/status", timeout=10)
    document: dict[str, Any] = answer.json() if answer.ok else {}
    parts = [document.get("connector", {}), *document.get("tasks", [])]
    for part in parts:
        if part.get("state") == "FAILED":  # the last cause in a Java trace says what to mend
            causes = [line for line in part.get("trace", "").splitlines() if line and not line[0].isspace()]
            raise NotRunningError(f"{file.stem}: {(causes or ['no trace'])[-1].removeprefix('Caused by: ')}")
    states = [part.get("state") for part in parts]
    if len(states) < 2 or set(states) != {"RUNNING"}:
        return f"connector and tasks are {states}"
    return "" if is_slot_active(settings, file) else "its slot is not read"


def is_slot_active(settings: Settings, file: Path) -> bool:
    """Ask as cdc itself, which also proves that its password works."""
    url: URL = settings.database(file.stem)
    password = (settings.secrets_dir / "cdc_password").read_text().strip()
    slot = json.loads(file.read_text())["slot.name"]
    query = "select active from pg_replication_slots where slot_name = %s"
    with psycopg.connect(host=url.host, port=url.port, dbname=url.database, user="cdc", password=password) as session:
        row = session.execute(query, [slot]).fetchone()
    return bool(row and row[0])
