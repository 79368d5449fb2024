"""How each part does, in one look: what runs, what lags, what has landed."""

from typing import Any

import psycopg
import requests

from ops.positions import landed, try_lag
from ops.stack.database import login
from ops.stack.stack import Stack

SLOTS = """
    select slot_name, active, pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::bigint as lag_bytes
    from pg_replication_slots order by slot_name
"""


def status(stack: Stack) -> dict[str, Any]:
    """Everything that `pipeline status` shows; what cannot be asked is null."""
    return {
        "processes": []
        if stack.settings.attach
        else [process(stack, name) for name in stack.parts],
        "consumer_lag": try_lag(stack.env()),
        "slots": slots(stack),
        "connectors": connectors(stack.env()["CONNECT_URL"]),
        "landed": landed(stack.env()),
    }


def healthy(found: dict[str, Any]) -> bool:
    """Whether every process is ready, every slot is read and every connector runs."""
    return (
        all(process["ready"] for process in found["processes"])
        and all(slot["active"] for slot in found["slots"] or [{"active": False}])
        and all(
            set(states) == {"RUNNING"} for states in (found["connectors"] or {"none": []}).values()
        )
        and found["consumer_lag"] is not None
    )


def process(stack: Stack, name: str) -> dict[str, Any]:
    """One process of the stack."""
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
    """Every replication slot, and how many bytes of the log it has still to confirm."""
    try:
        with login(stack.settings) as connection:
            rows = connection.execute(SLOTS).fetchall()
    except (psycopg.Error, OSError):
        return None
    return [dict(zip(("slot", "active", "lag_bytes"), row, strict=True)) for row in rows]


def connectors(url: str) -> dict[str, list[str]] | None:
    """The state of each connector, followed by those of its tasks."""
    try:
        found = requests.get(f"{url}/connectors", params={"expand": "status"}, timeout=5).json()
    except requests.RequestException:
        return None
    return {
        name: [part["state"] for part in (about["status"]["connector"], *about["status"]["tasks"])]
        for name, about in sorted(found.items())
    }


def lines(found: dict[str, Any]) -> list[str]:
    """The same for people."""
    processes = [
        f"{p['name']:<10} pid {p['pid'] or '-':<8} port {'/'.join(map(str, p['ports'])):<12} "
        + ("ready" if p["ready"] else p["missing"])
        for p in found["processes"]
    ]
    lag = found["consumer_lag"]
    slot_lines = [
        f"slot {slot['slot']}: {slot['lag_bytes']} bytes behind, {'' if slot['active'] else 'NOT '}active"
        for slot in found["slots"] or []
    ]
    connectors = [
        f"connector {name}: {states[0]}, tasks {', '.join(states[1:]) or 'none'}"
        for name, states in (found["connectors"] or {}).items()
    ]
    landed = [
        f"landed {topic}: "
        + ", ".join(f"{partition} up to {end}" for partition, end in ends.items())
        for topic, ends in found["landed"].items()
    ]
    return [
        *processes,
        f"consumer lag: {'unknown' if lag is None else f'{sum(lag.values())} records {lag}'}",
        *(slot_lines or ["slots: unknown"]),
        *(connectors or ["connectors: unknown"]),
        *(landed or ["landed: nothing yet"]),
    ]
