"""`pipeline dead-letters allow`: a person takes the responsibility for what one cause refuses."""

import getpass
import os
import re
from typing import Any

from sqlalchemy import Connection, text

from ops.purger import connect_as_purger
from ops.settings import Env
from ops.stack.supervisor import StackError
from service.database import classify_errors

KINDS = {5: "database", 3: "audit"}  # by the length of the code: a SQLSTATE, or a status
CAUSE = re.compile(r"([0-9A-Z]{5}|[0-9]{3})(?::(.+))?")

# Only what has refused something: a name with a slip in it would allow nothing.
ALLOW = text("""
    insert into refusal_allowed (kind, code, name, allowed_by, allowed_until)
    select :kind, :code, :name, :allowed_by, now() + make_interval(secs => :seconds)
    where exists (
        select
        from refusal
        where kind = :kind and code = :code and coalesce(:name, name) = name
    )
    returning allowed_until
""")

CAUSES = text("""
    select concat_ws(':', code, nullif(name, '')) as cause, count(*) as records
    from refusal
    group by code, name
    order by max(refused_at) desc
    limit 10
""")


def allow(env: Env, cause: str, seconds: float, by: str | None = None) -> dict[str, Any]:
    """Allow a cause for so long, and return until when; None if it has refused nothing."""
    found = CAUSE.fullmatch(cause)
    if found is None:
        raise StackError(
            f"{cause} is no cause: give a SQLSTATE or a status, and the name of what refused "
            "behind a colon, as /readyz says it, such as 23514:no_13"
        )
    code, name = found.groups()
    parameters = {
        "kind": KINDS[len(code)],
        "code": code,
        "name": name,
        "allowed_by": by or user(),
        "seconds": seconds,
    }
    with connect_as_purger(env) as engine, classify_errors(), engine.connect() as connection:
        allowed_until = connection.scalar(ALLOW, parameters)
        causes = find_causes(connection)
    return {
        "cause": cause,
        "allowed_by": parameters["allowed_by"],
        "allowed_until": allowed_until.isoformat() if allowed_until else None,
        "causes": causes,
    }


def find_causes(connection: Connection) -> dict[str, int]:
    """Return what has refused records, the latest first, and how many."""
    return {row.cause: row.records for row in connection.execute(CAUSES)}


def user() -> str:
    """Return who types, or the number of a user that has no name, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def say(done: dict[str, Any]) -> str:
    """Return the same as a line for people."""
    cause = done["cause"]
    if done["allowed_until"]:
        allowed_by = done["allowed_by"]
        until = done["allowed_until"]
        return f"{cause} may bury what it refuses until {until}, allowed by {allowed_by}"
    causes = [f"{name} ({records} records)" for name, records in done["causes"].items()]
    return f"{cause} has refused nothing; what has: {', '.join(causes) or 'nothing'}"
