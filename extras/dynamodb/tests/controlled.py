"""DynamoDB Local for tests: shards roll over and time passes when a test says so."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests

from extras.dynamodb.client import connect
from extras.dynamodb.local import OPTIONS
from ops.jars import fetch_jars
from ops.settings import ROOT
from tests.client import until
from tests.own_service import free_port

HERE = Path(__file__).parent
POM = HERE.parent / "pom.xml"
CONTROL = "[TEST_CONTROL]"  # a table that is none
NO_KEY = 400  # a request without a key is answered, too

AWS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "eu-central-1",
}


class Controlled(NamedTuple):
    """Where it is, and what it lets a test do."""

    url: str
    client: Any

    def roll_over(self) -> None:
        """Close the open shards of every stream; each has a child from now on."""
        self.client.put_item(TableName=CONTROL, Item={"ACTION": "ROLLOVER"})

    def pass_hours(self, hours: int) -> None:
        """Make everything in every stream older."""
        item = {"ACTION": "DILATE_TIME", "HOURS": str(hours)}
        self.client.put_item(TableName=CONTROL, Item=item)


@contextmanager
def controlled() -> Iterator[Controlled]:
    """Run it in memory, with keys that boto3 finds in the environment."""
    jars = fetch_jars(run_maven, ROOT / ".run" / "jars", POM, {})
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = ["java", *OPTIONS, f"-Djava.library.path={jars}", "-cp", f"{jars}/*"]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**AWS, "DYNAMODB_URL": url}.items():
            patch.setenv(name, value)
        process = subprocess.Popen(
            [*command, str(HERE / "Controlled.java"), str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until(lambda: status(url), lambda found: found == NO_KEY, 60, "DynamoDB Local")
            yield Controlled(url, connect(url, 10))
        finally:
            process.kill()
            process.wait(10)


def status(url: str) -> int | None:
    """Return what it answers, or None as long as nobody is there."""
    try:
        return requests.get(url, timeout=5).status_code
    except requests.ConnectionError:
        return None


def run_maven(_name: str, command: list[str]) -> None:
    """Fetch the jars, if nobody has done so."""
    subprocess.run(command, check=True, timeout=300)
