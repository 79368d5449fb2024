"""How each part is: what runs, what lags, what was refused, what has landed."""

from typing import Any

import psycopg
import requests
from psycopg.rows import dict_row

from access.connect import connect_session
from ops.positions import Ends, Lags, landed, try_lag
from ops.refused import KINDS, look_at_refused, refused_lines
from ops.settings import OUTBOXES, Env
from ops.stack.database import login
from ops.stack.stack import Stack

SLOTS = """
    select
        slot_name as slot,
        active,
        wal_status,
        pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::bigint as lag_bytes
    from pg_replication_slots
    order by slot_name
"""
GIVEN_UP = ("unreserved", "lost", "missing")  # of the log: events are skipped, or soon will be

About = dict[str, Any]
States = dict[str, list[str]]  # of a connector and its tasks


def status(stack: Stack) -> About:
    """Return everything that `pipeline status` shows; what cannot be asked is None."""
    env = stack.env()
    processes = [process(stack, name) for name in stack.parts]
    return {
        "processes": processes,
        "consumer_lag": try_lag(env),
        "publishes": stack.settings.publishes,
        "slots": slots(stack),
        "connectors": connectors(env) if stack.settings.publishes else {},
        "refused": look_at_refused(env, stack.settings.data_dir / "looked.json"),
        "landed": landed(env),
    }


def healthy(found: About) -> bool:
    """Say whether all runs and is ready, every slot is read, and nothing is refused in a burst."""
    slots = found["slots"]
    connectors = found["connectors"]
    refused = found["refused"]
    if found["consumer_lag"] is None:
        return False
    if slots is None or connectors is None or not refused:
        return False
    is_read = bool(slots and connectors)
    if found["publishes"] and not is_read:
        return False
    if any(refused[kind]["burst"] for kind in KINDS):
        return False
    processes = found["processes"]
    ready = [process["ready"] for process in processes]
    active = [slot["active"] and slot["wal_status"] not in GIVEN_UP for slot in slots]
    running = []
    for states in connectors.values():
        running += [state == "RUNNING" for state in states]
    return all([*ready, *active, *running])


def process(stack: Stack, name: str) -> About:
    """Return what there is to say of one process of the stack."""
    identity = stack.supervisor.identity(name)
    runs = identity is not None and identity.alive()
    ports = stack.parts[name].ports
    missing = stack.ready(name)
    return {
        "name": name,
        "pid": identity.pid if identity and runs else None,
        "ports": list(ports.values()),
        "ready": not missing,
        "missing": missing,
    }


def slots(stack: Stack) -> list[About] | None:
    """Return every replication slot, with how many bytes of the log it has still to confirm.

    A slot that should be there and is not has the status `missing`.
    """
    try:
        with login(stack.settings) as connection:
            cursor = connection.cursor(row_factory=dict_row)
            found = cursor.execute(SLOTS).fetchall()
    except (psycopg.Error, OSError):
        return None
    names = {slot["slot"] for slot in found}
    expected = OUTBOXES if stack.settings.publishes else ()
    for outbox in expected:
        name = f"{outbox}_outbox"
        if name not in names:
            missing = {"slot": name, "active": False, "wal_status": "missing", "lag_bytes": None}
            found.append(missing)
    return found


def connectors(env: Env) -> States | None:
    """Return the state of each connector, followed by those of its tasks."""
    url = env["CONNECT_URL"]
    try:
        with connect_session() as session:
            answer = session.get(f"{url}/connectors", params={"expand": "status"}, timeout=5)
        answer.raise_for_status()
        found = answer.json()
    except (requests.RequestException, OSError):
        return None
    states = {}
    for name in sorted(found):
        about = found[name]["status"]
        connector = about["connector"]
        parts = [connector, *about["tasks"]]
        states[name] = [part["state"] for part in parts]
    return states


def lines(found: About) -> list[str]:
    """Return the same as lines for people."""
    process_lines = [process_line(process) for process in found["processes"]]
    return [
        *process_lines,
        lag_line(found["consumer_lag"]),
        *slot_lines(found["slots"]),
        *connector_lines(found["connectors"]),
        *refused_lines(found["refused"]),
        *landed_lines(found["landed"]),
    ]


def process_line(process: About) -> str:
    """Return the line of one process."""
    name = process["name"]
    pid = process["pid"] or "-"
    ports = "/".join(map(str, process["ports"]))
    state = "ready" if process["ready"] else process["missing"]
    columns = [
        f"{name:<10}",
        f"pid {pid:<8}",
        f"port {ports:<12}",
        state,
    ]
    return " ".join(columns)


def lag_line(lag: Lags | None) -> str:
    """Return the line of the consumer group."""
    if lag is None:
        return "consumer lag: unknown"
    total = sum(lag.values())
    return f"consumer lag: {total} records {lag}"


def slot_lines(slots: list[About] | None) -> list[str]:
    """Return a line for each replication slot."""
    found = []
    for slot in slots or []:
        name = slot["slot"]
        behind = slot["lag_bytes"]
        state = "active" if slot["active"] else "NOT active"
        log = slot["wal_status"]
        line = f"slot {name}: {behind} bytes behind, {state}, its log is {log}"
        if log == "missing":
            line = f"slot {name}: MISSING"
        found.append(line)
    return found or ["slots: unknown"]


def connector_lines(connectors: States | None) -> list[str]:
    """Return a line for each connector."""
    if not connectors:
        return ["connectors: unknown"]
    found = []
    for name, (state, *task_states) in connectors.items():
        tasks = ", ".join(task_states) or "none"
        found.append(f"connector {name}: {state}, tasks {tasks}")
    return found


def landed_lines(landed: Ends) -> list[str]:
    """Return a line for each topic that has landed."""
    found = []
    for topic, ends in landed.items():
        parts = [f"{partition} up to {end}" for partition, end in ends.items()]
        partitions = ", ".join(parts)
        found.append(f"landed {topic}: {partitions}")
    return found or ["landed: nothing yet"]
