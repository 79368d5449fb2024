"""DynamoDB Local from its jars; it starts when DEDUP_STORE=dynamodb, or DYNAMODB=true, asks for it."""

import os
from pathlib import Path

import requests

from ops.settings import HOST, Settings
from ops.stack.jars import Run, jars_folder

POM = Path(__file__).parent / "pom.xml"
MAIN = Path(__file__).parent / "Local.java"  # java compiles it in a second, each time


def command(settings: Settings) -> list[str]:
    """One table for all keys and regions, in a file that outlives a restart."""
    home, jars = os.environ.get("JAVA_HOME"), jars_folder(settings.jars, POM)
    program = str(Path(home, "bin", "java")) if home else "java"
    native = f"-Djava.library.path={jars}"  # its SQLite
    options = [
        "-Xmx256m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:+ExitOnOutOfMemoryError",
        native,
    ]
    where = [
        "-port",
        str(settings.dynamodb_port),
        "-dbPath",
        str(settings.data_dir / "dynamodb"),
        "-sharedDb",
    ]
    return [program, *options, "-cp", f"{jars}/*", str(MAIN), *where, "-disableTelemetry"]


def prepare(settings: Settings, _run: Run) -> None:
    """The folder of its file."""
    (settings.data_dir / "dynamodb").mkdir(parents=True, exist_ok=True)


def ready(settings: Settings) -> str:
    """Nothing when it answers; a request without a key is answered, too: with 400."""
    url = f"http://{HOST}:{settings.dynamodb_port}"
    try:
        status = requests.get(url, timeout=2).status_code
    except requests.RequestException as failure:
        return f"{url}: {type(failure).__name__}"
    return "" if status == requests.codes.bad_request else f"{url} answers {status}"
