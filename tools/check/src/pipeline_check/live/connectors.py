"""Each connector: whether it is there and runs, and the command that brings it back."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline_check.connector.outbox import Outbox
from pipeline_check.live.cluster import Cluster, workers
from pipeline_check.reading.block import Block
from pipeline_check.rules.finding import Finding, Severity

ERROR = Severity.ERROR
CURL = "curl -fsS"
GONE = "no longer available on the server"  # Debezium, of a slot that was made anew
LONGEST = 300  # characters of a cause


def of_connect(cluster: Cluster, outboxes: Iterable[Outbox]) -> Iterator[Finding]:
    """The workers, and each outbox connector."""
    yield from workers(cluster)
    for outbox in outboxes:
        known = outbox.block.name in cluster.states
        yield from running(cluster, outbox.block.name) if known else missing(outbox.block)


def running(cluster: Cluster, name: str) -> Iterator[Finding]:
    """A connector runs, and so does its task."""
    status = cluster.states[name]
    state, tasks = status["connector"]["state"], status["tasks"]
    place, url = f"connect/{name}", f"$CONNECT_URL/connectors/{name}"
    if state in ("PAUSED", "STOPPED"):
        message = f"{name} is {state}: nothing is published, and the log is kept"
        yield Finding("connector-paused", ERROR, place, 0, message, f"{CURL} -X PUT {url}/resume")
        return
    failed = [part for part in (status["connector"], *tasks) if part["state"] != "RUNNING"]
    if not failed and tasks:
        return
    causes = [
        line for part in failed for line in part.get("trace", "").splitlines() if line[:1].strip()
    ]
    cause = causes[-1].removeprefix("Caused by: ") if causes else "it gives no reason"
    if GONE in cause:
        message = f"{name} stands at an offset that its slot no longer has: events were lost; reconcile afterwards"
        fix = f'{CURL} -X PUT "{url}/stop" && {CURL} --retry 9 --retry-all-errors -X DELETE "{url}/offsets"'
        fix = f'{fix} && {CURL} -X PUT "{url}/resume"'
        yield Finding("connector-offset-gone", ERROR, place, 0, message, fix)
    else:
        states = ", ".join(part["state"] for part in failed) or "without a task"
        message = f"{name} is {states}: {cause[:LONGEST]}"
        fix = f'{CURL} -X POST "{url}/restart?includeTasks=true&onlyFailed=true"'
        yield Finding("connector-failed", ERROR, place, 0, message, fix)


def missing(wanted: Block) -> Iterator[Finding]:
    """A connector that a file describes is registered."""
    name, data = name_of(wanted), f"-H 'Content-Type: application/json' --data @{wanted.file}"
    put = f"{CURL} -X PUT {data} $CONNECT_URL/connectors/{name}/config"
    ours = (Path(wanted.file).parent.parent / "ops" / "setup").exists()
    fix = "python -m connect register" if ours else put
    message = f"{name} is in {wanted.file} and not in Connect: nothing of its outbox is published"
    yield Finding("connector-missing", ERROR, f"connect/{name}", 0, message, fix)


def name_of(connector: Block) -> str:
    """A connector's name, or else that of its file."""
    return connector.name or Path(connector.file).stem
