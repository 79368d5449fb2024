"""Log in as the cdc role, as the connector will.

Without this a connector fails late, or runs and silently reads nothing.
"""

from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from access.postgres import TLS
from connect.files import SettingsError
from connect.settings import Settings

WHAT_IS_THERE = """
    select
        rolreplication,
        exists (select from pg_publication where pubname = %s),
        exists (
            select from pg_replication_slots
            where slot_name = %s and database = current_database()
        )
    from pg_roles
    where rolname = current_user
"""


def try_as_cdc(settings: Settings, name: str, config: dict[str, str]) -> str:
    """Try what a connector will need before it is sent: what is wrong is then said at once."""
    try:
        with log_in(settings, config) as session:
            missing = what_is_missing(session, config)
    except psycopg.Error as failure:
        words = str(failure).split()
        missing = " ".join(words)
    if missing:
        raise SettingsError(f"{name}: {missing}")
    return ""


def what_is_missing(session: psycopg.Connection[Any], config: dict[str, str]) -> str:
    """Return nothing, or the first thing that is not as the migrations make it."""
    publication = config["publication.name"]
    slot = config["slot.name"]
    [row] = session.execute(WHAT_IS_THERE, [publication, slot]).fetchall()
    may_replicate, is_published, has_slot = row
    if not may_replicate:
        return "role cdc has no REPLICATION attribute: run the migrations again"
    if not is_published:
        return (
            f"there is no publication {publication} in this database: "
            "it is made by the first revision"
        )
    if not has_slot:
        return f"there is no slot {slot} in this database: run the migrations again"
    # Of a heartbeat that is not allowed, the connector would only write a line into its log.
    session.execute(config["heartbeat.action.query"].encode())
    return ""


def is_slot_active(settings: Settings, config: dict[str, str]) -> bool:
    """Return whether the connector really reads."""
    query = "select active from pg_replication_slots where slot_name = %s"
    slot = config["slot.name"]
    with log_in(settings, config) as session:
        row = session.execute(query, [slot]).fetchone()
    return row == (True,)


def log_in(settings: Settings, config: dict[str, str]) -> psycopg.Connection[Any]:
    """Connect to the connector's database, with the password as this process finds it."""
    password_file = settings.secrets_dir / "cdc_password"
    password = password_file.read_text().strip()
    settings_of = {name: f"database.{name}" for name in TLS}
    encryption = {name: config[key] for name, key in settings_of.items() if key in config}
    address = make_conninfo(
        host=config["database.hostname"],
        port=config["database.port"],
        dbname=config["database.dbname"],
        user=config["database.user"],
        **encryption,
    )
    return psycopg.connect(address, password=password)
