"""What looks at a stack from outside while its parts are killed."""

import psycopg
import pytest

from lab.environment import connect_as_admin
from lab.faults.observe import Databases
from ops.stack.stack import Stack

ME = "select pg_backend_pid()"


def test_a_connection_that_the_server_has_ended_is_made_again(spoiled: Stack) -> None:
    """Between two runs of a soak Postgres may have been started again: nobody noticed."""
    env = spoiled.env()
    databases = Databases(env)
    [(first,)] = databases.rows("DATABASE_URL", ME)
    with connect_as_admin(env, "DATABASE_URL") as admin:
        admin.execute("select pg_terminate_backend(%s, 5000)", [first])
    [(second,)] = databases.rows("DATABASE_URL", ME)
    assert first != second
    databases.close()


def test_a_server_that_is_away_is_told(spoiled: Stack) -> None:
    """Control: a connection that cannot be made is an error, and not asked for without an end."""
    databases = Databases({**spoiled.env(), "DATABASE_URL": "postgresql://app@127.0.0.1:1/nobody"})
    with pytest.raises(psycopg.OperationalError):
        databases.rows("DATABASE_URL", ME)
