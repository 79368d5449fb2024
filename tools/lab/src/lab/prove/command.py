"""`pipeline prove`: a client with the user's settings, and the same without idempotence."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lab.environment import proxied_stack
from lab.kafka_proxy import EVERY, AckLosses, KafkaProxy
from lab.prove import confluent, debezium, java
from lab.prove.batches import find_writers
from lab.prove.count import count, read_numbers
from lab.prove.fetch import read
from lab.prove.job import TRANSACTIONAL, Job
from lab.prove.partitions import find_spans
from lab.prove.producer_settings import control_settings, read_settings
from lab.prove.verdict import Arm, judge, lines
from ops.progress import step
from ops.settings import HOST, ROOT, Settings
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError

# For each answer that is lost; a few more than needed, because batches are not always full.
ANSWERS = EVERY + 2

Send = Callable[[Stack, Job], int]  # waits for all, and returns how many the client gave up


class Client(NamedTuple):
    """What a proof must know of a client."""

    send: Send
    files: Sequence[Path] = ()  # this project's own, where the user names none
    parts: Sequence[str] = ("kafka",)
    topics: tuple[str, str] = ("prove-settings", "prove-control")


CLIENTS = {
    "python": Client(
        send=confluent.send,
        files=[ROOT / "ops" / "produce.py"],
    ),
    "java": Client(
        send=java.send,
    ),
    "connect": Client(
        send=debezium.send,
        files=[ROOT / "connect" / "worker.properties"],
        parts=("postgres", "kafka"),
        topics=debezium.TOPICS,
    ),
}


def prove(
    name: str,
    messages: int,
    lost_acks: int,
    files: Sequence[Path],
    *,
    as_json: bool,
) -> int:
    """Print a table and a verdict; return 0 for proved, 1 for refuted, 2 for nothing proved."""
    if name not in CLIENTS:
        raise StackError(f"there is no client {name}: choose among {', '.join(CLIENTS)}")
    needed = lost_acks * ANSWERS
    if messages < needed:
        raise StackError(f"{lost_acks:,} lost acknowledgements need {needed:,} messages or more")
    client = CLIENTS[name]
    chosen = files or client.files
    settings = read_settings(name, chosen) if chosen else {}
    topic, control_topic = client.topics
    with proxied_stack(Settings(), step, "prove", client.parts) as (stack, proxy):
        job = Job(
            bootstrap=f"{HOST}:{proxy.port}",
            settings=settings,
            topic=topic,
            messages=messages,
            together=messages // needed,
            aborts=TRANSACTIONAL in settings,
        )
        control_job = job._replace(settings=control_settings(settings), topic=control_topic)
        arm = run(stack, proxy, client.send, job, lost_acks)
        control = run(stack, proxy, client.send, control_job, lost_acks)
    code, verdict = judge(arm, control, lost_acks)
    if as_json:
        document = {
            "client": name,
            "verdict": verdict,
            "settings": arm.document(),
            "control": control.document(),
        }
        print(json.dumps(document))
    else:
        print("\n".join(lines([arm, control])))
        print(f"verdict: {verdict}")
    return code


def run(stack: Stack, proxy: KafkaProxy, send: Send, job: Job, lost_acks: int) -> Arm:
    """Send everything through the proxy, then count what is on the topic."""
    bootstrap = stack.env()["KAFKA_BOOTSTRAP_SERVERS"]
    started = time.monotonic()
    title = f"{job.topic}: send {job.messages:,} messages, {in_a_line(job.settings)}"
    with step(title) as note:
        losses = AckLosses(lost_acks, note)
        proxy.losses = losses
        failed = send(stack, job)
    seconds = time.monotonic() - started
    with step(f"{job.topic}: count, and look at the bytes"):
        spans = find_spans(bootstrap, job.topic)
        written = {span.partition: find_writers(read(span)) for span in spans}
        partitions = count(read_numbers(bootstrap, job.topic), written, job.messages)
    return Arm(
        settings=job.settings,
        requests=losses.answers,
        lost=losses.lost,
        failed=failed,
        seconds=seconds,
        partitions=partitions,
    )


def in_a_line(settings: Mapping[str, str]) -> str:
    """Return the settings in a line."""
    pairs = [f"{key}={value}" for key, value in settings.items()]
    return ", ".join(pairs) or "the client's own defaults"
