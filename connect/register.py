"""Connectors brought to the worker, and not called ready before their task runs and their slot is read."""

import json
import time
from pathlib import Path

import requests
from psycopg.conninfo import conninfo_to_dict

from connect.cdc import is_slot_active, try_as_cdc
from connect.settings import CONNECT, Settings


def register(settings: Settings) -> list[str]:
    """Send every connector file, then wait until each of them really reads its slot."""
    deadline = time.monotonic() + settings.connect_timeout_seconds
    configs = {file.stem: read(settings, file) for file in sorted(CONNECT.glob("*-outbox.json"))}
    for step in (try_as_cdc, send, look):
        for name, config in configs.items():
            while missing := step(settings, name, config):
                if time.monotonic() > deadline:
                    raise SystemExit(f"register: {name}: {missing}")
                time.sleep(0.1)
    return list(configs)


def read(settings: Settings, file: Path) -> dict[str, str]:
    """The file as it stands, with the database and the secrets of this machine."""
    config: dict[str, str] = json.loads(file.read_text())
    database = conninfo_to_dict(settings.database(file.stem))
    place = {
        "hostname": database["host"],
        "port": database.get("port", "5432"),
        "dbname": database["dbname"],
    }
    secret = {"password": f"${{dir:{settings.secrets_dir}:cdc_password}}"}
    return config | {f"database.{key}": str(value) for key, value in (place | secret).items()}


def send(settings: Settings, name: str, config: dict[str, str]) -> str:
    """PUT is idempotent: an existing connector is updated; a worker that is still joining is asked again."""
    answer = requests.put(
        f"{settings.connect_url}/connectors/{name}/config", json=config, timeout=30
    )
    said = "" if answer.ok else answer.json().get("message", answer.text)
    refusal = "" if answer.ok else f"Connect refused it: {' '.join(said.split())}"  # on one line
    if refusal and answer.status_code not in (409, 500, 503):
        raise SystemExit(f"register: {name}: {refusal}")
    return refusal


def look(settings: Settings, name: str, config: dict[str, str]) -> str:
    """What is missing: nothing, once all is RUNNING and the slot is active; FAILED is an answer at once."""
    answer = requests.get(f"{settings.connect_url}/connectors/{name}/status", timeout=10)
    status = answer.json() if answer.ok else {}
    parts = [status.get("connector", {}), *status.get("tasks", [])]
    for part in parts:
        if part.get("state") == "FAILED":  # the last cause in a Java trace says what to mend
            causes = [
                line
                for line in part.get("trace", "").splitlines()
                if line and not line[0].isspace()
            ]
            raise SystemExit(
                f"register: {name}: {(causes or ['no trace'])[-1].removeprefix('Caused by: ')}"
            )
    states = [part.get("state") for part in parts]
    if len(states) < 2 or set(states) != {"RUNNING"}:
        return f"connector and tasks are {states}"
    return "" if is_slot_active(settings, name, config["slot.name"]) else "its slot is not read"
