"""What the service could not take: dead letters, and entries that the audit receiver refused.

All times are those of Postgres.
"""

import json
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from ops.settings import Env

# A burst is at least so many within so long, and at least this share of what was handled then:
# a few bad records among many good ones are every day's business.
BURST_COUNT = 10
BURST_PERCENT = 5
FRESH_MINUTES = 30  # the audit receiver's refusals may come a quarter of an hour after the message

COUNTS = """
    with fresh as (
        select now() - make_interval(mins => %s) as since
    ),
    tracked as (
        select count(*) as fresh
        from tracking, fresh
        where handled_at > since
    ),
    buried as (
        select count(*) as total, count(*) filter (where buried_at > since) as fresh
        from dead_letter, fresh
    ),
    unaudited as (
        select count(*) as total, count(*) filter (where handled_at > since) as fresh
        from tracking, fresh
        where audit_error is not null
    )
    select
        to_char(now() at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS') as at,
        tracked.fresh + buried.fresh as handled,
        buried.total as dead_letters,
        buried.fresh as fresh_dead_letters,
        unaudited.total as audit_refusals,
        unaudited.fresh as fresh_audit_refusals,
        (select count(*) from parked) as parked
    from tracked, buried, unaudited
"""
KINDS = ("dead_letters", "audit_refusals")
CONNECT_SECONDS = 5

About = dict[str, Any]


def look_at_refused(env: Env, file: Path) -> About | None:
    """Count each kind, and note it in a file for the next look; None if nothing can be counted."""
    try:
        counts = count_refused(env)
    except (psycopg.Error, OSError):
        return None
    before: About = json.loads(file.read_text()) if file.exists() else {}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(counts))
    return compare(before, counts)


def count_refused(env: Env) -> About:
    """Return how many there are of each kind, and how many of these are fresh."""
    password_file = Path(env["RECONCILER_PASSWORD_FILE"])
    password = password_file.read_text().strip()
    with psycopg.connect(
        env["DATABASE_URL"], user="reconciler", password=password, connect_timeout=CONNECT_SECONDS
    ) as connection:
        cursor = connection.cursor(row_factory=dict_row)
        counts = cursor.execute(COUNTS, [FRESH_MINUTES]).fetchone()
    assert counts is not None
    return counts


def compare(before: About, counts: About) -> About:
    """Return what is new since the look before, and whether it is a burst."""
    found: About = {"last_look": before.get("at"), "parked": counts["parked"]}
    for kind in KINDS:
        total = counts[kind]
        fresh = counts[f"fresh_{kind}"]
        added = total - before.get(kind, 0)
        is_many = fresh >= BURST_COUNT
        is_large_share = fresh * 100 >= counts["handled"] * BURST_PERCENT
        found[kind] = {
            "total": total,
            "since_last_look": max(0, added),  # there are fewer when somebody has put things right
            "fresh": fresh,
            "burst": is_many and is_large_share,
        }
    return found


def refused_lines(found: About | None) -> list[str]:
    """Return a line for each kind."""
    if found is None:
        return ["dead letters, audit refusals: unknown"]
    last_look = found["last_look"]
    since = f"since the last look at {last_look} UTC" if last_look else "since the beginning"
    lines = []
    for kind in KINDS:
        name = kind.replace("_", " ")
        counts = found[kind]
        line = f"{name}: {counts['total']}, {counts['since_last_look']} of them {since}"
        if counts["burst"]:
            line += f"; a BURST, {counts['fresh']} within {FRESH_MINUTES} minutes"
        lines.append(line)
    if found["parked"]:
        lines.append(f"parked: {found['parked']} records wait behind dead letters of their keys")
    return lines
