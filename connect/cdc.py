"""What the cdc role finds when it logs in itself: without it a connector fails late, or stands still silently."""

from typing import Any

import psycopg

from connect.settings import Settings

FOUND = """
    select rolreplication,
        exists (select from pg_publication where pubname = %s),
        exists (select from pg_replication_slots where slot_name = %s and database = current_database())
    from pg_roles where rolname = current_user
"""


def try_as_cdc(settings: Settings, name: str, config: dict[str, str]) -> str:
    """What a connector will need is tried before it is sent: the cause is then one line, and comes at once."""
    try:
        with log_in(settings, name) as session:
            missing = what_is_missing(session, config)
    except psycopg.Error as failure:
        missing = " ".join(str(failure).split())
    if missing:
        raise SystemExit(f"register: {name}: {missing}")
    return ""


def what_is_missing(session: psycopg.Connection[Any], config: dict[str, str]) -> str:
    """Nothing, or the first thing that is not as the migrations make it."""
    publication, slot = config["publication.name"], config["slot.name"]
    [(may_replicate, is_published, has_slot)] = session.execute(
        FOUND, [publication, slot]
    ).fetchall()
    if not may_replicate:
        return "role cdc has no REPLICATION attribute: run the migrations again"
    if not is_published:
        return f"there is no publication {publication} in this database: it is made by the first revision"
    if not has_slot:
        return f"there is no slot {slot} in this database: run the migrations again"
    session.execute(
        config["heartbeat.action.query"].encode()
    )  # the connector would only log that it may not
    return ""


def is_slot_active(settings: Settings, name: str, slot: str) -> bool:
    """Whether the connector really reads."""
    query = "select active from pg_replication_slots where slot_name = %s"
    with log_in(settings, name) as session:
        return session.execute(query, [slot]).fetchone() == (True,)


def log_in(settings: Settings, name: str) -> psycopg.Connection[Any]:
    """As the connector does it."""
    password = (settings.secrets_dir / "cdc_password").read_text().strip()
    return psycopg.connect(settings.database(name), user="cdc", password=password)
