"""The database server: its settings, its replication slots, and its logins."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import psycopg

from pipeline_check.live.positions import Position, check_position, how_to_resend
from pipeline_check.live.postgres import Database
from pipeline_check.live.unseen import not_looked_at
from pipeline_check.rules.finding import Finding, Severity

ERROR, WARNING = Severity.ERROR, Severity.WARNING


class BadSetting(NamedTuple):
    """A setting of the server, the pattern of its wrong values, and what to write instead."""

    name: str
    wrong: str
    severity: Severity
    why: str
    right: str


BAD_SETTINGS = (
    BadSetting(
        "wal_level",
        "minimal|replica",
        ERROR,
        "no outbox can be read from the log",
        "'logical'",
    ),
    BadSetting(
        "max_slot_wal_keep_size",
        "-1",
        WARNING,
        "a connector that is down for long fills the disk",
        "'4GB'",
    ),
    BadSetting(
        "idle_replication_slot_timeout",
        "(?!0$).*",
        WARNING,
        "a connector that is down this long loses its slot",
        "0",
    ),
    BadSetting(
        "fsync",
        "off",
        ERROR,
        "a power cut loses what was committed",
        "on",
    ),
    BadSetting(
        "full_page_writes",
        "off",
        ERROR,
        "a power cut tears pages",
        "on",
    ),
    BadSetting(
        "synchronous_commit",
        "off",
        ERROR,
        "a crash loses what was committed, its offset already is",
        "on",
    ),
    BadSetting(
        "synchronous_standby_names",
        r".*\*.*",
        ERROR,
        "a connector counts as a standby, and what no standby has is confirmed",
        "'standby'",
    ),
)
WITH_RESTART = {"wal_level"}
COUNTED_SETTINGS = ("max_replication_slots", "max_wal_senders")
HBA = """
    select line_number, database, user_name, auth_method
    from pg_hba_file_rules
    where error is null
"""


def check_settings(database: Database) -> Iterator[Finding]:
    """Check that the server keeps the log for its slots, not for ever, and durably."""
    for name, wrong, severity, why, right in BAD_SETTINGS:
        value = database.settings.get(name, "0")
        if re.fullmatch(wrong, value):
            reload = "select pg_reload_conf();"
            then = "-- and restart the server" if name in WITH_RESTART else reload
            fix = f"alter system set {name} = {right}; {then}"
            yield setting_finding(name, severity, f"{name}={value}: {why}", fix)
    count = len(database.slots)
    for name in COUNTED_SETTINGS:
        most = int(database.settings.get(name, "10"))
        if count >= most:
            message = f"{name}={most}, and there are {count} slots: the next one is refused"
            fix = f"alter system set {name} = {2 * count + 2}; -- and restart the server"
            yield setting_finding(name, WARNING, message, fix)


def setting_finding(name: str, severity: Severity, message: str, fix: str) -> Finding:
    """Make a finding about a setting of the server."""
    rule = f"postgres-{name.replace('_', '-')}"
    return Finding(rule, severity, "postgres", 0, message, fix)


def check_slot(
    database: Database, name: str, connector: str, position: Position | None = None
) -> Iterator[Finding]:
    """Check that a connector's slot exists, is its own, is read, and has kept all its log."""
    slots = [slot for slot in database.slots if slot["slot_name"] == name]
    make = f"select pg_create_logical_replication_slot('{name}', 'pgoutput');"
    place = database.place
    who = f"slot {name} of {connector}"
    then = f"Make it again, then {how_to_resend(position)}, and reconcile"
    if not slots:
        message = f"{who} does not exist: rows written until it does are never published. {then}"
        yield Finding("slot-missing", ERROR, place, 0, message, make)
        return
    slot = slots[0]
    invalid = slot.get("invalidation_reason")
    if slot["wal_status"] in ("lost", "unreserved"):
        invalid = invalid or slot["wal_status"]
    if slot["database"] != database.name or slot["plugin"] != "pgoutput":
        owner = f"database {slot['database']} and plugin {slot['plugin']}"
        message = f"{who} belongs to {owner}: choose another slot.name"
        fix = make.replace(name, f"{name}_2")
        yield Finding("slot-of-another", ERROR, place, 0, message, fix)
    elif invalid:
        message = f"{who} is invalid ({invalid}): events were lost to Connect. {then}"
        fix = f"select pg_drop_replication_slot('{name}'); {make}"
        yield Finding("slot-lost", ERROR, place, 0, message, fix)
    else:
        if not slot["active"]:
            message = f"{who} is read by nobody: the log is kept, and nothing is published"
            fix = f"curl -fsS $CONNECT_URL/connectors/{connector}/status"
            yield Finding("slot-inactive", ERROR, place, 0, message, fix)
        yield from check_lag(database, slot, who)
        yield from check_failover(database, slot, who)
        if position:
            yield from check_position(database, slot, connector, position)


def check_lag(database: Database, slot: dict[str, Any], who: str) -> Iterator[Finding]:
    """Check that a slot keeps at most half of what it may."""
    limit = int(database.settings.get("max_slot_wal_keep_size", "-1")) * 1024**2
    kept = int(slot["kept"] or 0)
    if limit > 0 and kept > limit / 2:
        message = (
            f"{who} keeps {kept} of {limit} bytes, at which it is given up and its events are lost"
        )
        fix = f"alter system set max_slot_wal_keep_size = '{limit // 512**2}MB';"
        yield Finding("slot-lagging", WARNING, database.place, 0, message, fix)


def check_failover(database: Database, slot: dict[str, Any], who: str) -> Iterator[Finding]:
    """Check that a standby that is promoted has the slot, and has all that was published."""
    standbys = [each["slot_name"] for each in database.slots if each["slot_type"] == "physical"]
    if not standbys or "failover" not in slot:
        return
    name = slot["slot_name"]
    if not slot["failover"]:
        message = (
            f"{who} has no failover: a standby that is promoted does not have it, and the events "
            "that were not read are skipped"
        )
        command = f"ALTER_REPLICATION_SLOT {name} (FAILOVER true)"
        fix = f'psql "dbname={database.name} replication=database" -c "{command}" # while unread'
        yield Finding("slot-without-failover", WARNING, database.place, 0, message, fix)
    elif not database.settings.get("synchronized_standby_slots"):
        message = (
            f"{who} waits for no standby: events may be published that the standby does not have "
            "when it is promoted"
        )
        names = ", ".join(standbys)
        fix = f"alter system set synchronized_standby_slots = '{names}'; select pg_reload_conf();"
        yield Finding("standby-not-awaited", WARNING, "postgres", 0, message, fix)


def check_orphans(database: Database, wanted: Iterable[str]) -> Iterator[Finding]:
    """Check that no slot keeps the log for a connector that is gone."""
    names = set(wanted)
    for slot in database.slots:
        name = slot["slot_name"]
        is_of_another = slot["database"] != database.name or name in names
        is_used = slot["active"] or slot["temporary"]
        if not is_of_another and not is_used:
            message = (
                f"slot {name} is read by nobody, and no connector names it: it keeps the log for "
                "ever"
            )
            fix = f"select pg_drop_replication_slot('{name}'); -- if nobody comes back for it"
            yield Finding("slot-orphaned", WARNING, database.place, 0, message, fix)


def check_logins(database: Database, reader: str) -> Iterator[Finding]:
    """Check that pg_hba trusts nobody, and lets the connector's role not copy the server."""
    try:
        lines = database.session.execute(HBA).fetchall()
    except psycopg.errors.InsufficientPrivilege:
        user = database.session.info.user
        yield not_looked_at(
            "postgres",
            "pg_hba: only a superuser may read pg_hba_file_rules unless it is granted",
            f"grant select on pg_hba_file_rules to {user}; "
            f"grant execute on function pg_hba_file_rules() to {user};",
        )
        return
    for number, databases, users, method in lines:
        fix = f"in pg_hba.conf, remove line {number}, then: select pg_reload_conf();"
        line = f"line {number} of pg_hba"
        if method == "trust":
            message = f"{line} trusts {', '.join(users)}: a broken secret goes unnoticed"
            yield Finding("hba-trust", ERROR, "postgres", 0, message, fix)
        if "replication" in databases and {"all", reader} & set(users):
            message = (
                f"{line} lets {reader} copy the whole server; logical decoding does not need it"
            )
            yield Finding("hba-replication", WARNING, "postgres", 0, message, fix)
