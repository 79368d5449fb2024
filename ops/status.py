"""How each part is: what runs, what lags, what has landed."""

from typing import Any

import psycopg
import requests

from ops.positions import landed, try_lag
from ops.stack.database import login
from ops.stack.stack import Stack

SLOTS = """
    select
        slot_name as slot,
        active,
        pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::bigint as lag_bytes
    from pg_replication_slots
    order by slot_name
"""


def status(stack: Stack) -> dict[str, Any]:
    """Return everything that `pipeline status` shows; what cannot be asked is None."""
    env = stack.env()
    names = [] if stack.settings.attach else list(stack.parts)
    return {
        "processes": [process(stack, name) for name in names],
        "consumer_lag": try_lag(env),
        "slots": slots(stack),
        "connectors": connectors(env["CONNECT_URL"]),
        "landed": landed(env),
    }


def healthy(found: dict[str, Any]) -> bool:
    """Say whether every process is ready, every slot is read and every connector runs."""
    if not found["slots"] or not found["connectors"] or found["consumer_lag"] is None:
        return False
    ready = [process["ready"] for process in found["processes"]]
    active = [slot["active"] for slot in found["slots"]]
    running = []
    for states in found["connectors"].values():
        running += [state == "RUNNING" for state in states]
    return all(ready) and all(active) and all(running)


def process(stack: Stack, name: str) -> dict[str, Any]:
    """Return what there is to say of one process of the stack."""
    identity = stack.supervisor.identity(name)
    missing = stack.ready(name)
    return {
        "name": name,
        "pid": identity.pid if identity and identity.alive() else None,
        "ports": list(stack.parts[name].ports.values()),
        "ready": not missing,
        "missing": missing,
    }


def slots(stack: Stack) -> list[dict[str, Any]] | None:
    """Return every replication slot, with how many bytes of the log it has still to confirm."""
    try:
        with login(stack.settings) as connection:
            rows = connection.execute(SLOTS).fetchall()
    except (psycopg.Error, OSError):
        return None
    return [
        {"slot": slot, "active": active, "lag_bytes": lag_bytes} for slot, active, lag_bytes in rows
    ]


def connectors(url: str) -> dict[str, list[str]] | None:
    """Return the state of each connector, followed by those of its tasks."""
    try:
        answer = requests.get(f"{url}/connectors", params={"expand": "status"}, timeout=5)
        found = answer.json()
    except requests.RequestException:
        return None
    states = {}
    for name in sorted(found):
        about = found[name]["status"]
        parts = [about["connector"], *about["tasks"]]
        states[name] = [part["state"] for part in parts]
    return states


def lines(found: dict[str, Any]) -> list[str]:
    """Return the same as lines for people."""
    return [
        *(process_line(process) for process in found["processes"]),
        lag_line(found["consumer_lag"]),
        *slot_lines(found["slots"]),
        *connector_lines(found["connectors"]),
        *landed_lines(found["landed"]),
    ]


def process_line(process: dict[str, Any]) -> str:
    """Return the line of one process."""
    name = process["name"]
    pid = process["pid"] or "-"
    ports = "/".join(str(port) for port in process["ports"])
    state = "ready" if process["ready"] else process["missing"]
    return f"{name:<10} pid {pid:<8} port {ports:<12} {state}"


def lag_line(lag: dict[int, int] | None) -> str:
    """Return the line of the consumer group."""
    if lag is None:
        return "consumer lag: unknown"
    return f"consumer lag: {sum(lag.values())} records {lag}"


def slot_lines(slots: list[dict[str, Any]] | None) -> list[str]:
    """Return a line for each replication slot."""
    found = []
    for slot in slots or []:
        state = "active" if slot["active"] else "NOT active"
        found.append(f"slot {slot['slot']}: {slot['lag_bytes']} bytes behind, {state}")
    return found or ["slots: unknown"]


def connector_lines(connectors: dict[str, list[str]] | None) -> list[str]:
    """Return a line for each connector."""
    found = []
    for name, (state, *tasks) in (connectors or {}).items():
        found.append(f"connector {name}: {state}, tasks {', '.join(tasks) or 'none'}")
    return found or ["connectors: unknown"]


def landed_lines(landed: dict[str, dict[str, int]]) -> list[str]:
    """Return a line for each topic that has landed."""
    found = []
    for topic, ends in landed.items():
        partitions = [f"{partition} up to {end}" for partition, end in ends.items()]
        found.append(f"landed {topic}: {', '.join(partitions)}")
    return found or ["landed: nothing yet"]
