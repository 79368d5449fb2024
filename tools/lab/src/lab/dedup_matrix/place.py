"""Where the truth table is made: a stack of its own, every store's tables, and a count of the requests."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import event

from lab.bench.place import administer
from lab.dedup_matrix.columns import is_there, prepare
from lab.dedup_matrix.stores import Place
from lab.prove.place import free_ports
from ops.settings import Settings
from ops.stack.stack import Stack, Step
from service.database import connect_to

PARTS = ("postgres", "dynamodb", "kafka")
ENVIRONMENT = (
    "DYNAMODB_URL",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_DEFAULT_REGION",
)  # boto3 looks there
STATEMENT_SECONDS = 20  # a worker may wait that long for another


@contextmanager
def place(settings: Settings, step: Step) -> Iterator[tuple[Stack, Place]]:
    """A stack in a folder and on ports of its own, so that no other data is touched; gone afterwards."""
    with free_ports() as ports:
        given = {name: number for name, number in ports.items() if name in Settings.model_fields}
    own = {
        "run_dir": settings.run_dir / "truth",
        "jars_dir": settings.jars,
        "attach": False,
        **given,
    }
    if is_there("dynamodb"):
        of_dynamodb = {"DYNAMODB": True, "DYNAMODB_PORT": ports["for_the_proxy"]}
        own["extras"] = settings.extras | of_dynamodb
    stack = Stack(settings.model_copy(update=own), step)
    stack.parts = {name: part for name, part in stack.parts.items() if name in PARTS}
    stack.claim()  # stops what a killed run has left over
    stack.remove_data()
    try:
        with stack.running(), in_stack(stack) as found:
            yield stack, found
    finally:
        stack.remove_data()


@contextmanager
def in_stack(stack: Stack) -> Iterator[Place]:
    """The stores in the databases of a stack that runs."""
    env = stack.env()
    os.environ.update({name: env[name] for name in ENVIRONMENT if name in env})
    engine = connect_to(env["DATABASE_URL"], Path(env["DATABASE_PASSWORD_FILE"]), STATEMENT_SECONDS)
    with administer(env, "DATABASE_URL") as admin:
        found = Place(engine, admin, env["KAFKA_BOOTSTRAP_SERVERS"], Counter())
        event.listen(
            engine, "before_cursor_execute", lambda *_: found.requests.update(["Postgres"])
        )
        prepare(found)
        yield found
    engine.dispose()
