"""`pipeline check --prove`: a client with the user's settings, and beside it the same without idempotence."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lab.prove import config, confluent, debezium, java
from lab.prove.batches import writers
from lab.prove.config import Job
from lab.prove.count import count, numbers
from lab.prove.fetch import read as batches
from lab.prove.partitions import places
from lab.prove.place import own_stack
from lab.prove.proxy import HOST, Proxy
from lab.prove.tally import EVERY, Tally
from lab.prove.verdict import Arm, judge, lines
from ops.progress import step
from ops.settings import ROOT, Settings
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError

ANSWERS = (
    EVERY + 2
)  # for each that is lost; a few more than needed, because batches are not always full
TOPICS = ("prove-settings", "prove-control")


class Client(NamedTuple):
    """What a proof must know of a client."""

    send: Callable[[Stack, Job], int]  # and wait for all; returns how many the client gave up
    files: Sequence[Path] = ()  # this project's own, where the user names none
    parts: Sequence[str] = ("kafka",)
    topics: tuple[str, str] = TOPICS


CLIENTS = {
    "python": Client(confluent.send, [ROOT / "ops" / "produce.py"]),
    "java": Client(java.send),
    "connect": Client(
        debezium.send,
        [ROOT / "connect" / "worker.properties"],
        ("postgres", "kafka"),
        debezium.TOPICS,
    ),
}


def prove(
    client: str, messages: int, lost_acks: int, files: Sequence[Path], *, as_json: bool
) -> int:
    """Print a table and a verdict, and return the exit code: 0 proved, 1 refuted, 2 proved nothing."""
    if client not in CLIENTS:
        raise StackError(f"there is no client {client}: choose among {', '.join(CLIENTS)}")
    if messages < lost_acks * ANSWERS:
        raise StackError(
            f"{lost_acks:,} lost acknowledgements need {lost_acks * ANSWERS:,} messages or more"
        )
    chosen = CLIENTS[client]
    named = files or chosen.files
    settings = config.read(client, named) if named else {}
    with own_stack(Settings(), step, chosen.parts) as (stack, proxy):
        jobs = [
            Job(f"{HOST}:{proxy.port}", arm, topic, messages, messages // (lost_acks * ANSWERS))
            for arm, topic in zip((settings, config.control(settings)), chosen.topics, strict=True)
        ]
        arms = [run(stack, proxy, chosen.send, job, lost_acks) for job in jobs]
    code, verdict = judge(arms[0], arms[1], lost_acks)
    document = {
        "client": client,
        "verdict": verdict,
        "settings": arms[0].document(),
        "control": arms[1].document(),
    }
    print(json.dumps(document) if as_json else "\n".join([*lines(arms), f"verdict: {verdict}"]))
    return code


def run(
    stack: Stack, proxy: Proxy, send: Callable[[Stack, Job], int], job: Job, lost_acks: int
) -> Arm:
    """One way through the proxy, and what is on the topic then."""
    started = time.monotonic()
    with step(f"{job.topic}: send {job.messages:,} messages, {said(job.settings)}") as note:
        proxy.tally = tally = Tally(lost_acks, note)
        failed = send(stack, job)
    seconds, bootstrap = time.monotonic() - started, stack.env()["KAFKA_BOOTSTRAP_SERVERS"]
    with step(f"{job.topic}: count, and look at the bytes"):
        written = {
            place.partition: writers(batches(place)) for place in places(bootstrap, job.topic)
        }
        partitions = count(numbers(bootstrap, job.topic), written, job.messages)
    return Arm(job.settings, tally.answers, tally.lost, failed, seconds, partitions)


def said(settings: Mapping[str, str]) -> str:
    """Settings in a line."""
    return (
        ", ".join(f"{key}={value}" for key, value in settings.items())
        or "the client's own defaults"
    )
