"""Files that are there whole or not at all, and secrets that only their owner reads."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ops.settings import HOST, Settings

ROLES = ("postgres", "app", "audit", "cdc", "reconciler", "purger")


@contextmanager
def is_whole(folder: Path) -> Iterator[Path | None]:
    """Give a place to fill when the folder is not there yet; it gets its name when the block is through."""
    if folder.exists():
        yield None
        return
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    yield unfinished
    unfinished.rename(folder)


def write_secret(file: Path, text: str) -> None:
    """Never readable by others, not even for a moment."""
    unfinished = file.with_name(file.name + ".new")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600, exist_ok=False)
    unfinished.write_text(text)
    unfinished.rename(file)


def make_secrets(settings: Settings) -> None:
    """A random password for each role that has none yet, and all of them in the form libpq reads."""
    settings.secrets_dir.mkdir(parents=True, exist_ok=True)
    settings.secrets_dir.chmod(0o700)
    lines = []
    for role in ROLES:
        file = settings.secrets_dir / f"{role}_password"
        if not file.exists():
            write_secret(file, secrets.token_urlsafe(24))
        lines.append(f"{HOST}:{settings.postgres_port}:*:{role}:{file.read_text()}\n")
    write_secret(settings.secrets_dir / "pgpass", "".join(lines))
