"""The Java producer: kafka-clients as the stack has it, driven by a source file that java runs directly."""

from pathlib import Path

from lab.prove.config import BACK_OFF, Job
from lab.prove.count import PARTITIONS
from lab.prove.place import make_topic
from ops.stack.broker import java
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError

PROGRAM = Path(__file__).with_name("Prove.java")

BATCH, RECORD = 61, 18  # bytes: the header, and a record of ten digits without a key


def send(stack: Stack, job: Job) -> int:
    """Send the numbers, and return how many of them the client gave up."""
    make_topic(stack, job.topic)
    sizes = {"batch.size": str(BATCH + RECORD * job.together), "compression.type": "none"}
    lines = {**job.settings, **BACK_OFF, **sizes, "bootstrap.servers": job.bootstrap}
    file, said = stack.settings.run_dir / "producer.properties", list[str]()
    file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    options = stack.settings.kafka_java_options
    command = java(
        stack.settings,
        options,
        str(PROGRAM),
        str(file),
        job.topic,
        str(job.messages),
        str(PARTITIONS),
    )
    stack.supervisor.pass_through("java", command, stack.env(), said.append, lambda _: None)
    word, _, rest = (said or [""])[-1].partition(" ")
    if word != "failed":
        raise StackError(f"the Java producer refuses {dict(job.settings)}: {rest}")
    return int(rest)
