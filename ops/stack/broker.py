"""Kafka and Kafka Connect from their jars: the settings of connect/, and this machine's own."""

import base64
import os
import uuid
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from access.kafka import kafka_connection
from ops.jars import Command, Run, jars_folder
from ops.settings import HOST, ROOT, Settings
from ops.stack.files import is_whole

POM = ROOT / "connect" / "pom.xml"
PLACES = {"worker": "worker", "plugin": "plugins/debezium"}  # a profile of the pom -> its folder
LOGGING = ROOT / "connect" / "log4j2.properties"
# Out of memory is a crash, never a broker that lives on without its threads.
JAVA = ["-XX:+ExitOnOutOfMemoryError", f"-Dlog4j2.configurationFile={LOGGING}"]


def java_program() -> str:
    """Return the java of JAVA_HOME, or else that of the PATH."""
    home = os.environ.get("JAVA_HOME")
    if not home:
        return "java"
    return str(Path(home, "bin", "java"))


def java(settings: Settings, options: str, main: str, *arguments: str) -> Command:
    """Return the command of a program from the worker's jars."""
    jars = jars_folder(settings.jars, POM) / PLACES["worker"]
    return [
        java_program(),
        *options.split(),
        *JAVA,
        "-cp",
        f"{jars}/*",
        main,
        *arguments,
    ]


def command(settings: Settings) -> Command:
    """Return the command of broker and controller in one process."""
    file = settings.run_dir / "broker.properties"
    return java(
        settings,
        settings.kafka_java_options,
        "kafka.Kafka",
        str(file),
    )


def connect_command(settings: Settings) -> Command:
    """Return the command of the Connect worker."""
    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    file = settings.run_dir / "worker.properties"
    return java(
        settings,
        settings.connect_java_options,
        main,
        str(file),
    )


def prepare(settings: Settings, run: Run) -> None:
    """Make the storage once, and write the settings at each start."""
    data = settings.data_dir / "kafka"
    write_broker(settings, data, settings.run_dir / "broker.properties")
    with is_whole(data) as folder:
        if folder:
            unfinished = settings.run_dir / "format.properties"
            write_broker(settings, folder, unfinished)
            command = format_command(settings, unfinished)
            run("format", command)


def format_command(settings: Settings, file: Path) -> Command:
    """Return the command that makes the storage of a new cluster."""
    random_id = base64.urlsafe_b64encode(uuid.uuid4().bytes)
    cluster = random_id.decode().rstrip("=")
    return java(
        settings,
        settings.kafka_java_options,
        "kafka.tools.StorageTool",
        "format",
        # With =, because one id in 64 begins with a dash, and would be taken for another option.
        f"--cluster-id={cluster}",
        "-c",
        str(file),
    )


def write_broker(settings: Settings, folder: Path, file: Path) -> None:
    """Write connect/broker.properties with the addresses and the folder of this machine."""
    broker = f"{HOST}:{settings.kafka_port}"
    controller = f"{HOST}:{settings.kafka_controller_port}"
    shared = ROOT / "connect" / "broker.properties"
    machine = {
        "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{broker}",
        "controller.quorum.voters": f"1@{controller}",
        "log.dirs": str(folder),
    }
    override(shared, machine, file)


def prepare_connect(settings: Settings, _run: Run) -> None:
    """Write connect/worker.properties with the four settings that it leaves to the machine."""
    plugins = jars_folder(settings.jars, POM) / "plugins"
    shared = ROOT / "connect" / "worker.properties"
    machine = {
        "bootstrap.servers": f"{HOST}:{settings.kafka_port}",
        "listeners": f"http://{HOST}:{settings.connect_port}",
        "plugin.path": str(plugins),
        "config.providers.dir.param.allowed.paths": str(settings.secrets_dir),
    }
    file = settings.run_dir / "worker.properties"
    override(shared, machine, file)


def override(shared: Path, machine: dict[str, str], file: Path) -> None:
    """Write the shared lines without those that this machine replaces, then the machine's own."""
    lines = []
    for line in shared.read_text().splitlines():
        key, _, _ = line.partition("=")
        if key.strip() not in machine:
            lines.append(line)
    for key, value in machine.items():
        lines.append(f"{key}={value}")
    file.write_text("\n".join(lines) + "\n")


def ready(settings: Settings) -> str:
    """Return nothing when the broker gives its metadata, else why it does not."""
    client = AdminClient(
        {
            **kafka_connection(f"{HOST}:{settings.kafka_port}"),
            "log_level": 0,
        }
    )
    try:
        client.list_topics(timeout=1)
    except KafkaException as failure:
        error = failure.args[0]
        return str(error.str())
    return ""
