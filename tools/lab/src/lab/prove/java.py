"""The Java producer: kafka-clients from the stack's jars, in a source file that java runs."""

from pathlib import Path

from lab.environment import make_topic
from lab.prove.job import PARTITIONS, SHORT_BACKOFF, Job
from ops.stack.kafka import java
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError

PROGRAM = Path(__file__).with_name("Prove.java")
BATCH_BYTES = 61  # the header
RECORD_BYTES = 18  # ten digits without a key


def send(stack: Stack, job: Job) -> int:
    """Send the numbers, and return how many of them the client gave up."""
    make_topic(stack.env()["KAFKA_BOOTSTRAP_SERVERS"], job.topic, PARTITIONS)
    settings = {
        **job.settings,
        **SHORT_BACKOFF,
        "batch.size": str(BATCH_BYTES + RECORD_BYTES * job.together),
        "compression.type": "none",
        "bootstrap.servers": job.bootstrap,
    }
    file = stack.settings.run_dir / "producer.properties"
    lines = [f"{key}={value}\n" for key, value in settings.items()]
    file.write_text("".join(lines))
    command = java(
        stack.settings,
        stack.settings.kafka_java_options,
        str(PROGRAM),
        str(file),
        job.topic,
        str(job.messages),
        str(PARTITIONS),
        str(job.transaction_messages),
        str(job.together),
    )
    printed = [""]
    stack.supervisor.pass_through("java", command, stack.env(), printed.append, lambda _: None)
    word, _, rest = printed[-1].partition(" ")
    if word != "failed":
        raise StackError(f"the Java producer refuses {dict(job.settings)}: {rest}")
    return int(rest)
