"""The database as the role `purger`, for the commands that change what the service has written."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine

from ops.settings import Env
from ops.stack.supervisor import StackError
from service.database import connect_to
from service.outage import OutageError, RefusedError

SECONDS = 10.0  # for one statement


@contextmanager
def connect_as_purger(env: Env) -> Iterator[Engine]:
    """Connect for a block; what goes wrong in it is a sentence with the way out."""
    password_file = Path(env["SECRETS_DIR"], "purger_password")
    if not password_file.exists():
        raise StackError(f"there is no {password_file}: start the stack first (pipeline up)")
    url = env["DATABASE_URL"].replace("//app@", "//purger@")
    engine = connect_to(url, password_file, SECONDS)
    try:
        yield engine
    except OutageError as outage:
        raise StackError(f"{outage}: start the stack first (pipeline up)") from None
    except RefusedError as refusal:
        raise StackError(f"{refusal}: run python -m migrations upgrade") from None
    finally:
        engine.dispose()
