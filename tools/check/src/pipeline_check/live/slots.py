"""Slots and the settings that decide how long they live."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pipeline_check.live.database import Database
from pipeline_check.rules.finding import Finding, Severity

ERROR, WARNING = Severity.ERROR, Severity.WARNING
# setting, the pattern of its wrong values, how bad, why, what to write
SETTINGS = (
    ("wal_level", "minimal|replica", ERROR, "no outbox can be read from the log", "'logical'"),
    (
        "max_slot_wal_keep_size",
        "-1",
        WARNING,
        "a connector that is down for long fills the disk",
        "'4GB'",
    ),
    (
        "idle_replication_slot_timeout",
        "(?!0$).*",
        WARNING,
        "a connector that is down this long loses its slot",
        "0",
    ),
    ("fsync", "off", ERROR, "a power cut loses what was committed", "on"),
    ("full_page_writes", "off", ERROR, "a power cut tears pages", "on"),
    (
        "synchronous_commit",
        "off",
        ERROR,
        "a crash loses what was committed, its offset already is",
        "on",
    ),
)
RESTART = {"wal_level"}
ROOM = ("max_replication_slots", "max_wal_senders")


def settings(database: Database) -> Iterator[Finding]:
    """The server keeps the log for its slots, not for ever, and durably."""
    for name, wrong, severity, why, right in SETTINGS:
        value = database.settings.get(name, "0")
        if re.fullmatch(wrong, value):
            then = "-- and restart the server" if name in RESTART else "select pg_reload_conf();"
            fix = f"alter system set {name} = {right}; {then}"
            yield Finding(
                f"postgres-{name.replace('_', '-')}",
                severity,
                "postgres",
                0,
                f"{name}={value}: {why}",
                fix,
            )
    for name in ROOM:
        if len(database.slots) >= int(database.settings.get(name, "10")):
            value, wanted = database.settings[name], 2 * len(database.slots) + 2
            message = f"{name}={value}, and there are {len(database.slots)} slots: the next one is refused"
            fix = f"alter system set {name} = {wanted}; -- and restart the server"
            yield Finding(
                f"postgres-{name.replace('_', '-')}", WARNING, "postgres", 0, message, fix
            )


def slot(database: Database, name: str, connector: str) -> Iterator[Finding]:
    """The connector's slot is there, is its own, is read, and has kept all its log."""
    found = next((one for one in database.slots if one["slot_name"] == name), None)
    make = f"select pg_create_logical_replication_slot('{name}', 'pgoutput');"
    again = f"select pg_drop_replication_slot('{name}'); {make}"

    def finding(rule: str, message: str, fix: str, severity: Severity = ERROR) -> Finding:
        return Finding(
            rule, severity, database.place, 0, f"slot {name} of {connector} {message}", fix
        )

    if found is None:
        yield finding(
            "slot-missing",
            "does not exist: rows written until it does are never published; reconcile",
            make,
        )
    elif found["database"] != database.name or found["plugin"] != "pgoutput":
        what = f"belongs to database {found['database']} and plugin {found['plugin']}"
        yield finding(
            "slot-of-another", f"{what}: choose another slot.name", make.replace(name, f"{name}_2")
        )
    elif found["wal_status"] in ("lost", "unreserved") or found.get("invalidation_reason"):
        why = found.get("invalidation_reason") or found["wal_status"]
        message = f"is invalid ({why}): events were lost to Connect. Make it anew, then reconcile and publish what is missing"
        yield finding("slot-lost", message, again)
    else:
        if not found["active"]:
            message = "is read by nobody: the log is kept, and nothing is published"
            yield finding(
                "slot-inactive", message, f"curl -fsS $CONNECT_URL/connectors/{connector}/status"
            )
        yield from kept(database, found, finding)


def kept(
    database: Database, found: dict[str, Any], finding: Callable[..., Finding]
) -> Iterator[Finding]:
    """There is room yet between what is kept and what may be."""
    limit = int(database.settings.get("max_slot_wal_keep_size", "-1")) * 1024**2
    if limit > 0 and int(found["kept"] or 0) > limit / 2:
        message = f"keeps {int(found['kept'])} of {limit} bytes, at which it is given up and its events are lost"
        yield finding(
            "slot-lagging",
            message,
            f"alter system set max_slot_wal_keep_size = '{limit // 512**2}MB';",
            WARNING,
        )


def orphans(database: Database, wanted: Iterable[str]) -> Iterator[Finding]:
    """No slot keeps the log for somebody who is gone."""
    for one in database.slots:
        ours = one["database"] == database.name and one["slot_name"] not in set(wanted)
        if ours and not one["active"] and not one["temporary"]:
            message = f"slot {one['slot_name']} is read by nobody, and no connector names it: it keeps the log for ever"
            fix = f"select pg_drop_replication_slot('{one['slot_name']}'); -- if nobody comes back for it"
            yield Finding("slot-orphaned", WARNING, database.place, 0, message, fix)
