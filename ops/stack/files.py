"""Files that are there whole or not at all, and secrets that only their owner reads."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ops.settings import HOST, Settings

ROLES = (
    "postgres",
    "app",
    "audit",
    "cdc",
    "reconciler",
    "purger",
    "resender",
    "standby",
)


@contextmanager
def is_whole(folder: Path) -> Iterator[Path | None]:
    """Yield a place to fill if there is no such folder; it is renamed at the end of the block."""
    if folder.exists():
        yield None
        return
    name = folder.name + ".unfinished"
    unfinished = folder.with_name(name)
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    yield unfinished
    unfinished.rename(folder)


def write_secret(file: Path, text: str) -> None:
    """Write a file that others cannot read, not even for a moment."""
    unfinished = file.with_name(file.name + ".new")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600, exist_ok=False)
    unfinished.write_text(text)
    unfinished.rename(file)


def make_password(file: Path) -> str:
    """Return the password in a file; a random one where there was none.

    It has neither quotes nor backslashes, on which Java's login configuration would break.
    """
    if not file.exists():
        write_secret(file, secrets.token_urlsafe(24))
    return file.read_text()


def make_secrets(settings: Settings) -> None:
    """Make a random password for each role that has none yet, and a pgpass file of all."""
    folder = settings.secrets_dir
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    server = f"{HOST}:{settings.postgres_port}"
    lines = []
    for role in ROLES:
        password = make_password(folder / f"{role}_password")
        lines.append(f"{server}:*:{role}:{password}\n")
    pgpass = folder / "pgpass"
    write_secret(pgpass, "".join(lines))
