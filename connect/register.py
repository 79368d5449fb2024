"""Bring the connectors to the worker, and wait until each task runs and each slot is read."""

import time
from collections.abc import Callable
from pathlib import Path

import requests
from psycopg.conninfo import conninfo_to_dict

from access.connect import connect_session
from access.postgres import tls_of
from connect.cdc import is_slot_active, try_as_cdc
from connect.files import SettingsError, connector_files, read_json
from connect.settings import Settings
from contract.extras import manifests

PLACEMENT = "transforms.outbox.table.fields.additional.placement"
MISSING = "transforms.outbox.table.field.additional.missing"
POLL = "poll.interval.ms"
Config = dict[str, str]
Step = Callable[[Settings, str, Config], str]  # returns what is missing; nothing when it is done


def register(settings: Settings) -> list[str]:
    """Send every connector, then wait until each of them really reads its slot."""
    deadline = time.monotonic() + settings.connect_timeout_seconds
    configs = {}
    for file in connector_files():
        configs[file.stem] = read_connector(settings, file)
    for step in (try_as_cdc, send, find_missing):
        for name, config in configs.items():
            repeat(step, settings, name, config, deadline)
    return list(configs)


def repeat(step: Step, settings: Settings, name: str, config: Config, deadline: float) -> None:
    """Repeat a step until nothing is missing, or until the deadline."""
    while missing := step(settings, name, config):
        if time.monotonic() > deadline:
            raise SettingsError(f"{name}: {missing}")
        time.sleep(0.1)


def read_connector(settings: Settings, file: Path) -> Config:
    """Return a connector's file with the database, the secrets and the pace of this machine."""
    config: Config = read_json(file)
    databases = settings.databases()
    name = config.get("database.dbname", "")
    if name not in databases:
        known = " or ".join(databases)
        raise SettingsError(f"{file.stem}: database.dbname is {name!r}, which is not {known}")
    database = conninfo_to_dict(databases[name])
    return (
        config
        | extra_headers(file.stem, config)
        | own_pace(settings)
        | {
            "database.hostname": str(database["host"]),
            "database.port": str(database.get("port", "5432")),
            "database.dbname": str(database["dbname"]),
            **{f"database.{name}": value for name, value in tls_of(database).items()},
            "database.password": f"${{dir:{settings.secrets_dir}:cdc_password}}",
        }
    )


def own_pace(settings: Settings) -> Config:
    """Return how often a connector looks for events, if it is not as often as its file says."""
    if settings.connector_poll_ms is None:
        return {}
    return {POLL: str(settings.connector_poll_ms)}


def extra_headers(name: str, config: Config) -> Config:
    """Return what the extras change: columns of theirs in the outbox become headers."""
    placed = [config.get(PLACEMENT, "")]
    for headers in manifests("connect").values():
        of_connector = headers.get(name, {})
        placed += [f"{column}:header:{header}" for column, header in of_connector.items()]
    if len(placed) == 1:
        return {}
    # Rows from before the extra's migration have no such column.
    return {PLACEMENT: ",".join(placed), MISSING: "ignore"}


def send(settings: Settings, name: str, config: Config) -> str:
    """PUT the connector, which updates one that is there; a worker that joins is asked again."""
    url = f"{settings.connect_url}/connectors/{name}/config"
    with connect_session() as session:
        answer = session.put(url, json=config, timeout=30)
    if answer.ok:
        return ""
    refuse_without_password(answer)
    said = answer.json().get("message", answer.text)
    words = said.split()
    on_one_line = " ".join(words)
    refusal = f"Connect refused it: {on_one_line}"
    may_accept_it_later = answer.status_code in (409, 500, 503)
    if not may_accept_it_later:
        raise SettingsError(f"{name}: {refusal}")
    return refusal


def refuse_without_password(answer: requests.Response) -> None:
    """Refuse a login that Connect does not know: it would not know it the next time either."""
    if answer.status_code == requests.codes.unauthorized:
        raise SettingsError(
            "Connect lets nobody in without a password: are CONNECT_USERNAME and"
            " CONNECT_PASSWORD_FILE what its users file says?"
        )


def find_missing(settings: Settings, name: str, config: Config) -> str:
    """Return nothing once all is RUNNING and the slot is read; a FAILED part ends the wait."""
    url = f"{settings.connect_url}/connectors/{name}/status"
    with connect_session() as session:
        answer = session.get(url, timeout=10)
    status = answer.json() if answer.ok else {}
    connector = status.get("connector", {})
    tasks = status.get("tasks", [])
    parts = [connector, *tasks]
    for part in parts:
        if part.get("state") == "FAILED":
            trace = part.get("trace", "")
            cause = last_cause(trace)
            raise SettingsError(f"{name}: {cause}")
    states = [part.get("state") for part in parts]
    all_run = set(states) == {"RUNNING"}
    if not tasks or not all_run:
        return f"connector and tasks are {states}"
    if not is_slot_active(settings, config):
        return "its slot is not read"
    return ""


def last_cause(trace: str) -> str:
    """Return the last cause of a Java trace, which is the one that says what to fix."""
    cause = "no trace"
    for line in trace.splitlines():
        is_indented = line[:1].isspace()
        if line and not is_indented:
            cause = line
    return cause.removeprefix("Caused by: ")
