"""A Kafka broker from its jars, a controller too: the settings of connect/, and our own."""

import base64
import socket
import uuid
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from access.kafka import KafkaAccess, kafka_connection
from ops.jars import Command, Run
from ops.security import ADMIN
from ops.settings import HOST, Settings
from ops.stack.files import is_whole
from ops.stack.kafka import CONNECT, java, numbered, of_cluster, of_security, override
from ops.stack.secured import first_users
from ops.stack.supervisor import StackError

FIELDS = KafkaAccess.model_fields.keys()
KNOWS_USERS = "made-with-users"  # beside the broker's own files


def command(settings: Settings, number: int = 1) -> Command:
    """Return the command of broker and controller in one process."""
    return java(
        settings,
        settings.kafka_java_options,
        "kafka.Kafka",
        str(settings_file(settings, number)),
    )


def settings_file(settings: Settings, number: int) -> Path:
    """Return the settings of one broker."""
    return settings.run_dir / f"{numbered('broker', number)}.properties"


def data_of(settings: Settings, number: int) -> Path:
    """Return where one broker keeps its data."""
    return settings.data_dir / numbered("kafka", number)


def prepare(settings: Settings, run: Run, number: int = 1) -> None:
    """Make the storage once, and write the settings at each start."""
    data = data_of(settings, number)
    refuse_another_cluster(settings)
    refuse_without_users(settings, data)
    write_broker(settings, data, settings_file(settings, number), number)
    with is_whole(data) as folder:
        if folder:
            make_storage(settings, run, folder, number)


def make_storage(settings: Settings, run: Run, folder: Path, number: int) -> None:
    """Make the storage of a new broker, and its first users if it asks who comes."""
    file = settings.run_dir / "format.properties"
    write_broker(settings, folder, file, number)
    command = format_command(settings, file)
    if settings.security is None:
        run("format", command)
        return
    with first_users(settings.security) as users:
        run("format", [*command, f"@{users}"])
    (folder / KNOWS_USERS).touch()


def refuse_another_cluster(settings: Settings) -> None:
    """Refuse the data of another number of brokers: its topics have as many copies as it had."""
    file = settings.data_dir / "brokers"
    made = count_made(settings, file)
    if made not in (0, settings.brokers):
        raise StackError(
            f"BROKERS={settings.brokers}: the data in {settings.run_dir} was made with {made}:"
            " set another RUN_DIR, or begin with empty data (pipeline down --data)"
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(str(settings.brokers))


def count_made(settings: Settings, file: Path) -> int:
    """Return for how many brokers the data was made: 0 without data, 1 before they were counted."""
    if file.exists():
        return int(file.read_text())
    return int(data_of(settings, 1).exists())


def refuse_without_users(settings: Settings, data: Path) -> None:
    """Refuse storage from before SECURE=true: nobody could log in, and no tool adds the first."""
    knows_users = (data / KNOWS_USERS).exists()
    if settings.security and data.exists() and not knows_users:
        raise StackError(
            f"SECURE=true: the broker in {settings.run_dir} was made without it, and knows nobody:"
            " set another RUN_DIR, or begin with empty data (pipeline down --data)"
        )


def format_command(settings: Settings, file: Path) -> Command:
    """Return the command that makes the storage of a broker."""
    return java(
        settings,
        settings.kafka_java_options,
        "kafka.tools.StorageTool",
        "format",
        # With =, because one id in 64 begins with a dash, and would be taken for another option.
        f"--cluster-id={cluster_id(settings)}",
        "-c",
        str(file),
    )


def cluster_id(settings: Settings) -> str:
    """Return the random id that all brokers of this stack have."""
    file = settings.data_dir / "cluster-id"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        random_id = base64.urlsafe_b64encode(uuid.uuid4().bytes)
        file.write_text(random_id.decode().rstrip("="))
    return file.read_text()


def write_broker(settings: Settings, folder: Path, file: Path, number: int = 1) -> None:
    """Write connect/broker.properties with the addresses and the folder of this machine."""
    protocol = "SASL_SSL" if settings.security else "PLAINTEXT"
    broker = f"{HOST}:{settings.kafka_ports[number - 1]}"
    controllers = [f"{HOST}:{port}" for port in settings.kafka_controller_ports]
    voters = [f"{node}@{address}" for node, address in enumerate(controllers, start=1)]
    machine = {
        "node.id": str(number),
        "listeners": f"{protocol}://{broker},CONTROLLER://{controllers[number - 1]}",
        "advertised.listeners": f"{protocol}://{broker}",
        "controller.quorum.voters": ",".join(voters),
        "log.dirs": str(folder),
    }
    layers = of_cluster("broker", is_cluster=settings.brokers > 1)
    layers |= of_security(settings, "broker") | machine
    override(CONNECT / "broker.properties", layers, file)


def ready(settings: Settings, number: int = 1) -> str:
    """Return nothing when the broker gives its metadata, else why it does not."""
    client = AdminClient(
        {
            **kafka_connection(settings.bootstrap_servers, as_admin(settings)),
            "log_level": 0,
        }
    )
    try:
        found = client.list_topics(timeout=1)
    except KafkaException as failure:
        error = failure.args[0]
        return str(error.str())
    return "" if number in found.brokers else f"the cluster does not know broker {number} yet"


def has_begun(settings: Settings, number: int) -> str:
    """Return nothing when the broker's controller listens: without a second one it does no more."""
    port = settings.kafka_controller_ports[number - 1]
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError as failure:
        return f"its controller does not listen at {port}: {failure.strerror}"
    return ""


def as_admin(settings: Settings) -> KafkaAccess | None:
    """Return how the stack itself is let in, if it is asked."""
    if settings.security is None:
        return None
    names = settings.security.environment() | settings.security.log_in_as(ADMIN)
    fields = {name.lower(): value for name, value in names.items()}
    known = {name: value for name, value in fields.items() if name in FIELDS}
    return KafkaAccess.model_validate(known)
