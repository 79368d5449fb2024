"""A store for objects as S3 has it, in a folder: versitygw."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from deltalake import DeltaTable, QueryBuilder

from ops.settings import ROOT

PROGRAM = ROOT / ".run" / "bin" / "versitygw"
MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
BUCKET = "lake"
KEYS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local-secret"}
START_SECONDS = 30


def write_credentials(file: Path) -> None:
    """Write them as jobs and workers read them."""
    lines = [f"{name.lower()} = {value}" for name, value in KEYS.items()]
    file.write_text("\n".join(["[default]", *lines, ""]))


def reader_options(url: str) -> dict[str, str]:
    """Return how a reader outside Spark opens a table there."""
    return {
        **KEYS,
        "AWS_ENDPOINT_URL": url,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
    }


def read_columns(url: str, table: str, *names: str) -> list[tuple[Any, ...]]:
    """Return these columns of a table, as a reader sees them that is not Spark."""
    opened = DeltaTable(table, storage_options=reader_options(url))
    columns = ", ".join(f'"{name}"' for name in names)
    query = f"select {columns} from rows"
    found = QueryBuilder().register("rows", opened).execute(query).read_all()
    return list(zip(*(found[name].to_pylist() for name in names), strict=True))


def install() -> None:
    """Compile it, once."""
    if not PROGRAM.exists():
        env = os.environ | {"GOBIN": str(PROGRAM.parent), "CGO_ENABLED": "0"}
        subprocess.run(["go", "install", MODULE], env=env, check=True, timeout=900)


@contextmanager
def lake_store(folder: Path, port: int) -> Iterator[str]:
    """Run it with an empty bucket, and yield its address."""
    install()
    (folder / BUCKET).mkdir(parents=True)
    keys = {
        "ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"],
        "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"],
    }
    command = [str(PROGRAM), "--port", f"127.0.0.1:{port}", "--quiet", "posix", str(folder)]
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, env=os.environ | keys) as process:
        try:
            until_it_answers(url)
            yield url
        finally:
            process.kill()


def until_it_answers(url: str) -> None:
    """Wait until it refuses somebody without a key, as it should."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            answer = requests.get(url, timeout=1)
        except requests.RequestException as error:
            if time.monotonic() > deadline:
                raise AssertionError(f"no store at {url}: {error}") from error
            time.sleep(0.1)
        else:
            assert answer.status_code == requests.codes.forbidden
            return
