"""Kafka and Kafka Connect from their jars: the settings of connect/, and this machine's own."""

import base64
import uuid
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from access.kafka import KafkaAccess, kafka_connection
from ops.jars import Command, Run, jars_folder, java_program
from ops.security import ADMIN, Security
from ops.settings import HOST, ROOT, Settings
from ops.stack.files import is_whole
from ops.stack.secured import first_users, login_file
from ops.stack.supervisor import StackError

CONNECT = ROOT / "connect"
POM = CONNECT / "pom.xml"
PLACES = {"worker": "worker", "plugin": "plugins/debezium"}  # a profile of the pom -> its folder
LOGGING = CONNECT / "log4j2.properties"
FIELDS = KafkaAccess.model_fields.keys()
KNOWS_USERS = "made-with-users"  # beside the broker's own files
# Out of memory is a crash, never a broker that lives on without its threads.
JAVA = ["-XX:+ExitOnOutOfMemoryError", f"-Dlog4j2.configurationFile={LOGGING}"]


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
    options = settings.connect_java_options
    if settings.security:
        options += f" -Djava.security.auth.login.config={login_file(settings.security)}"
    return java(
        settings,
        options,
        main,
        str(file),
    )


def prepare(settings: Settings, run: Run) -> None:
    """Make the storage once, and write the settings at each start."""
    data = settings.data_dir / "kafka"
    refuse_without_users(settings, data)
    write_broker(settings, data, settings.run_dir / "broker.properties")
    with is_whole(data) as folder:
        if folder:
            unfinished = settings.run_dir / "format.properties"
            write_broker(settings, folder, unfinished)
            command = format_command(settings, unfinished)
            if settings.security is None:
                run("format", command)
            else:
                with first_users(settings.security) as users:
                    run("format", [*command, f"@{users}"])
                (folder / KNOWS_USERS).touch()


def refuse_without_users(settings: Settings, data: Path) -> None:
    """Refuse storage from before SECURE=true: nobody could log in, and no tool adds the first."""
    knows_users = (data / KNOWS_USERS).exists()
    if settings.security and data.exists() and not knows_users:
        raise StackError(
            f"SECURE=true: the broker in {settings.run_dir} was made without it, and knows nobody:"
            " set another RUN_DIR, or begin with empty data (pipeline down --data)"
        )


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
    protocol = "SASL_SSL" if settings.security else "PLAINTEXT"
    machine = {
        "listeners": f"{protocol}://{broker},CONTROLLER://{controller}",
        "advertised.listeners": f"{protocol}://{broker}",
        "controller.quorum.voters": f"1@{controller}",
        "log.dirs": str(folder),
    }
    override(CONNECT / "broker.properties", of_security(settings, "broker") | machine, file)


def prepare_connect(settings: Settings, _run: Run) -> None:
    """Write connect/worker.properties with the settings that it leaves to the machine."""
    plugins = jars_folder(settings.jars, POM) / "plugins"
    http = "https" if settings.security else "http"
    machine = {
        "bootstrap.servers": f"{HOST}:{settings.kafka_port}",
        "listeners": f"{http}://{HOST}:{settings.connect_port}",
        "plugin.path": str(plugins),
        "config.providers.dir.param.allowed.paths": str(settings.secrets_dir),
    }
    file = settings.run_dir / "worker.properties"
    override(CONNECT / "worker.properties", of_security(settings, "worker") | machine, file)


def of_security(settings: Settings, name: str) -> dict[str, str]:
    """Return the lines of connect/NAME.secure.properties, with the folders of this machine."""
    if settings.security is None:
        return {}
    text = (CONNECT / f"{name}.secure.properties").read_text()
    here = replace_folders(text, settings.security)
    found = {}
    for line in here.splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found[key] = value
    return found


def replace_folders(text: str, security: Security) -> str:
    """Return a text with our folders for those of the containers."""
    with_secrets = text.replace("/run/secrets", str(security.secrets))
    return with_secrets.replace("/run/tls", str(security.tls))


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
            **kafka_connection(f"{HOST}:{settings.kafka_port}", as_admin(settings)),
            "log_level": 0,
        }
    )
    try:
        client.list_topics(timeout=1)
    except KafkaException as failure:
        error = failure.args[0]
        return str(error.str())
    return ""


def as_admin(settings: Settings) -> KafkaAccess | None:
    """Return how the stack itself is let in, if it is asked."""
    if settings.security is None:
        return None
    names = settings.security.environment() | settings.security.log_in_as(ADMIN)
    fields = {name.lower(): value for name, value in names.items()}
    known = {name: value for name, value in fields.items() if name in FIELDS}
    return KafkaAccess.model_validate(known)
