"""The dedup matrix's stack: every store's tables, and a count of the requests."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import event

from lab.dedup_matrix import controls, effect
from lab.dedup_matrix.candidate import Backends
from lab.environment import connect_as_admin, throwaway_stack
from ops.extra import Value
from ops.settings import Settings
from ops.stack.stack import Stack, Step
from service.database import connect_to
from service.dedup import stores

PARTS = ("postgres", "dynamodb", "kafka")
AWS_NAMES = (  # boto3 looks for them in the environment
    "DYNAMODB_URL",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_DEFAULT_REGION",
)
STATEMENT_SECONDS = 20  # a worker may wait this long for another


@contextmanager
def matrix_stack(settings: Settings, step: Step) -> Iterator[tuple[Stack, Backends]]:
    """Run the stack on which the cells are tried one after the other."""
    extras: dict[str, Value] = {"DYNAMODB": True} if "dynamodb" in stores() else {}
    with (
        throwaway_stack(settings, step, "dedup-matrix", PARTS, extras) as stack,
        backends_of(stack) as backends,
    ):
        yield stack, backends


@contextmanager
def backends_of(stack: Stack) -> Iterator[Backends]:
    """Open the servers of a running stack, with the tables of effect and controls beside."""
    env = stack.env()
    os.environ.update({name: env[name] for name in AWS_NAMES if name in env})
    password_file = Path(env["DATABASE_PASSWORD_FILE"])
    engine = connect_to(env["DATABASE_URL"], password_file, STATEMENT_SECONDS)
    requests: Counter[str] = Counter()

    def count_statement(*_: Any) -> None:
        requests.update(["Postgres"])

    with connect_as_admin(env, "DATABASE_URL") as admin:
        event.listen(engine, "before_cursor_execute", count_statement)
        backends = Backends(engine, admin, env["KAFKA_BOOTSTRAP_SERVERS"], requests)
        make_tables(admin)
        yield backends
    engine.dispose()


def make_tables(admin: psycopg.Connection) -> None:
    """Make the tables of the lab's own; those of the stores come from the migrations."""
    admin.execute("set role owner")
    admin.execute(effect.TABLES)
    admin.execute(controls.TABLES)
    admin.execute("reset role")
