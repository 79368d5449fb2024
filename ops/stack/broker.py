"""Kafka and Kafka Connect from their jars: the settings of connect/, and what only this machine decides."""

import base64
import os
import uuid
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from ops.settings import HOST, ROOT, Settings
from ops.stack.files import is_whole
from ops.stack.jars import Run, jars_folder

POM = ROOT / "connect" / "pom.xml"
PLACES = {"worker": "worker", "plugin": "plugins/debezium"}  # a profile of the pom -> its folder
LOGGING = ROOT / "connect" / "log4j2.properties"
# Out of memory is a crash, never a broker that lives on without its threads.
JAVA = ["-XX:+ExitOnOutOfMemoryError", f"-Dlog4j2.configurationFile={LOGGING}"]


def java(settings: Settings, options: str, main: str, *arguments: str) -> list[str]:
    """A program from the worker's jars."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else "java"
    jars = jars_folder(settings.jars, POM) / PLACES["worker"]
    return [program, *options.split(), *JAVA, "-cp", f"{jars}/*", main, *arguments]


def command(settings: Settings) -> list[str]:
    """Broker and controller in one process."""
    return java(
        settings,
        settings.kafka_java_options,
        "kafka.Kafka",
        str(settings.run_dir / "broker.properties"),
    )


def connect_command(settings: Settings) -> list[str]:
    """The Connect worker."""
    main, file = (
        "org.apache.kafka.connect.cli.ConnectDistributed",
        settings.run_dir / "worker.properties",
    )
    return java(settings, settings.connect_java_options, main, str(file))


def prepare(settings: Settings, run: Run) -> None:
    """The storage once, and the settings at each start."""
    write_broker(settings, settings.data_dir / "kafka", settings.run_dir / "broker.properties")
    with is_whole(settings.data_dir / "kafka") as folder:
        if folder:
            unfinished = settings.run_dir / "format.properties"
            write_broker(settings, folder, unfinished)
            cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            # With =, because one id in 64 begins with a dash, and would be taken for another option.
            tool = (
                "kafka.tools.StorageTool",
                "format",
                f"--cluster-id={cluster}",
                "-c",
                str(unfinished),
            )
            run("format", java(settings, settings.kafka_java_options, *tool))


def write_broker(settings: Settings, folder: Path, file: Path) -> None:
    """connect/broker.properties, then the addresses and the folder of this machine: the later line wins."""
    broker, controller = f"{HOST}:{settings.kafka_port}", f"{HOST}:{settings.kafka_controller_port}"
    override(
        ROOT / "connect" / "broker.properties",
        {
            "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{broker}",
            "controller.quorum.voters": f"1@{controller}",
            "log.dirs": str(folder),
        },
        file,
    )


def prepare_connect(settings: Settings, _run: Run) -> None:
    """connect/worker.properties, then the four settings that it leaves to the machine."""
    override(
        ROOT / "connect" / "worker.properties",
        {
            "bootstrap.servers": f"{HOST}:{settings.kafka_port}",
            "listeners": f"http://{HOST}:{settings.connect_port}",
            "plugin.path": str(jars_folder(settings.jars, POM) / "plugins"),
            "config.providers.dir.param.allowed.paths": str(settings.secrets_dir),
        },
        settings.run_dir / "worker.properties",
    )


def override(shared: Path, machine: dict[str, str], file: Path) -> None:
    """The shared lines without those that this machine replaces, then the machine's own."""
    kept = [
        line
        for line in shared.read_text().splitlines()
        if line.partition("=")[0].strip() not in machine
    ]
    file.write_text(
        "\n".join([*kept, *(f"{key}={value}" for key, value in machine.items())]) + "\n"
    )


def ready(settings: Settings) -> str:
    """Nothing when the broker tells its metadata, else why not."""
    client = AdminClient({"bootstrap.servers": f"{HOST}:{settings.kafka_port}", "log_level": 0})
    try:
        client.list_topics(timeout=1)
    except KafkaException as failure:
        return str(failure.args[0].str())
    return ""
