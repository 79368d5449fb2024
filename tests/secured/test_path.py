"""What holds on an open stack holds on a secured one, and no secret is where it does not belong."""

import subprocess
import sys
from pathlib import Path

import psutil

from access.connect import connect_session
from ops.security import Security
from ops.stack.stack import Stack
from tests.client import until
from tests.e2e.test_outages import (
    test_an_outage_does_not_cost_the_partitions,
    test_an_outage_of_postgres_makes_no_dead_letter,
    test_connect_killed_and_started_again_misses_no_event,
)
from tests.e2e.test_path import test_one_order_passes_every_hop

# The same tests, with the stack of this folder.
__all__ = [
    "test_an_outage_does_not_cost_the_partitions",
    "test_an_outage_of_postgres_makes_no_dead_letter",
    "test_connect_killed_and_started_again_misses_no_event",
    "test_one_order_passes_every_hop",
]

SHORTEST_SECRET = 20  # all are random: a shorter file is not one of them


def test_in_the_end_everything_reconciles(stack: Stack) -> None:
    """Landing and reconciliation log in as themselves; nothing is lost, nothing is doubled."""
    said: list[str] = []
    code = stack.pass_through(["spark.reconcile", "--land"], said.append, said.append)
    assert (code, said[-1]) == (0, "verdict: nothing lost, nothing doubled")


def test_no_secret_is_where_it_does_not_belong(stack: Stack, security: Security) -> None:
    """Not in a log, a setting, a data file, the lake, a report, a process, or an answer of Connect.

    The control: in the folder of the secrets the same search finds each of them.
    """
    secrets = find_secrets(security.secrets)
    assert len(secrets) > 15
    assert secrets == found_in(secrets, [*security.secrets.iterdir()])
    everything = [file for file in stack.run_dir.rglob("*") if file.is_file()]
    elsewhere = [file for file in everything if not file.is_relative_to(security.secrets)]
    assert {"data", "delta", "log"} <= {
        file.relative_to(stack.run_dir).parts[0] for file in elsewhere
    }
    assert not found_in(secrets, elsewhere)
    shown = processes() + answers_of_connect(stack)
    assert b"kafka_connect_password" in shown or b"cdc_password" in shown  # the placeholders are
    assert not [secret for secret in secrets if secret in shown]


def test_no_part_leaves_a_core_dump(stack: Stack) -> None:
    """Its memory has passwords in it. Control: what has not this limit may write one."""
    pids = [identity.pid for identity in stack.supervisor.state().processes.values()]
    assert len(pids) >= len(stack.parts)
    soft = {psutil.Process(pid).rlimit(psutil.RLIMIT_CORE)[0] for pid in pids}
    assert soft == {0}
    program = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (1, 1)); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as other:
        until(
            lambda: psutil.Process(other.pid).rlimit(psutil.RLIMIT_CORE)[0],
            lambda limit: limit == 1,
            10,
            "the limit is as it was",
        )
        other.kill()


def find_secrets(folder: Path) -> set[bytes]:
    """Return every password and token of the stack."""
    texts = {file.read_bytes() for file in folder.iterdir() if "." not in file.name}
    return {text for text in texts if b"\n" not in text and len(text) >= SHORTEST_SECRET}


def found_in(secrets: set[bytes], files: list[Path]) -> set[bytes]:
    """Return the secrets that are in one of the files."""
    found: set[bytes] = set()
    for file in files:
        content = file.read_bytes()
        found |= {secret for secret in secrets if secret in content}
    return found


def processes() -> bytes:
    """Return every process with its words and its environment."""
    command = ["ps", "axwwe", "-o", "args"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def answers_of_connect(stack: Stack) -> bytes:
    """Return what the REST API says of a connector."""
    url = f"{stack.env()['CONNECT_URL']}/connectors/fulfillment-outbox"
    with connect_session() as session:
        answers = [
            session.get(f"{url}{path}", timeout=10)
            for path in ("", "/config", "/status", "/tasks", "/tasks/0/config")
        ]
    return b"".join(answer.content for answer in answers)
