"""compose.yaml beside the embedded stack: what one of them says differently, in sentences."""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from connect.settings import Settings as Setup
from migrations.settings import Settings as Migrations
from ops.extra import extra_processes
from ops.settings import ROOT, Settings
from ops.stack import broker, database
from ops.stack.part import Part, parts
from service.audit.settings import Settings as Audit
from service.settings import Settings as Service
from spark.settings import Settings as Spark

# Each Python part of compose.yaml: its name in the embedded stack, and what it reads from the environment.
PARTS: dict[str, tuple[str, set[str]]] = {
    "migrations": ("migrations", {*Migrations.model_fields}),
    "topics": ("topics", {*Setup.model_fields}),
    "connector": ("connectors", {*Setup.model_fields}),
    "audit": ("audit", {*Audit.model_fields}),
    "service": ("service", {*Service.model_fields}),
    "land": ("land", {*Spark.model_fields}),
}
# Where a part listens and finds its jars is each stack's own affair; that it is told is not.
OWN = {"AUDIT_HOST", "AUDIT_PORT", "SERVICE_HOST", "SERVICE_PORT", "SPARK_JARS_DIR"}
BROKER = {"listeners", "advertised.listeners", "controller.quorum.voters", "log.dirs"}
WORKER = {
    "bootstrap.servers",
    "listeners",
    "plugin.path",
    "config.providers.dir.param.allowed.paths",
}
HOST_LISTENER = (
    "HOST:PLAINTEXT,"  # for clients outside of the containers; the embedded stack has only those
)

Compose = dict[str, Any]


def compose_files() -> list[Path]:
    """Return compose.yaml, and after it what extras add to it."""
    return [ROOT / "compose.yaml", *sorted(ROOT.glob("extras/*/compose.yaml"))]


def env_examples() -> str:
    """Return what .env.example says, and after it what extras say of their own settings."""
    files = [ROOT / ".env.example", *sorted(ROOT.glob("extras/*/.env.example"))]
    return "".join(file.read_text() for file in files)


def read_compose() -> Compose:
    """Return the whole pipeline with every variable at its default."""
    compose: Compose = {"services": {}}
    for file in compose_files():
        text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", file.read_text())
        compose["services"] |= yaml.safe_load(text.replace("$$", "$"))["services"]
    return compose


def parts_of_compose(compose: Compose) -> dict[str, tuple[str, set[str]]]:
    """Return each Python part: its name in the embedded stack, and what it reads."""
    found = dict(PARTS)
    for name in extra_processes():
        if name not in compose["services"]:
            continue  # the extra runs in the embedded stack alone
        own = import_module(f"extras.{name}.settings").Settings
        its_own_way = {"dedup_store", "group_id"}
        found[name] = (name, {*own.model_fields, *Service.model_fields} - its_own_way)
    return found


def drift(compose: Compose, embedded: Settings) -> list[str]:
    """Every difference that is not one of place."""
    services = compose["services"]
    read_by = parts_of_compose(compose)
    return [
        *(line for name in read_by for line in commands(services, name, read_by, embedded)),
        *(line for name in read_by for line in environments(services, name, read_by, embedded)),
        *postgres(services["postgres"], embedded),
        *kafka(services["kafka"], embedded),
        *connect(services["connect"], embedded),
    ]


def commands(
    services: Compose, name: str, read_by: Mapping[str, tuple[str, set[str]]], embedded: Settings
) -> Iterator[str]:
    """Whether the same module is started with the same words."""
    started = everything(embedded)
    argv = {part.name: part.argv for part in started} | {
        n: argv for part in started for n, argv in part.then.items()
    }
    ours, theirs = services[name]["command"], argv[read_by[name][0]]
    yield from differ(f"{name}: command", ours[1:], theirs[1:])


def environments(
    services: Compose, name: str, read_by: Mapping[str, tuple[str, set[str]]], embedded: Settings
) -> Iterator[str]:
    """Whether what one stack tells a part, the other tells it too; and whether all that may be set can be set."""
    own_name, fields = read_by[name]
    service = services[name]
    own = next((part.env for part in everything(embedded) if part.name == own_name), {})
    told = {
        key: value for key, value in (embedded.environment() | own).items() if key.lower() in fields
    }
    given = {key: value for key, value in service["environment"].items() if key.lower() in fields}
    fixed = {key: str(value) for key, value in given.items() if value is not None}
    for key in sorted(told.keys() | fixed.keys()):
        ours, theirs = fixed.get(key), told.get(key)
        if key in OWN or key in own:
            yield from differ(f"{name}: {key} is told", ours is not None, theirs is not None)
        else:
            yield from differ(
                f"{name}: {key}", ours and without_place(ours), theirs and without_place(theirs)
            )
    documented = set(re.findall(r"^#(\w+)=", env_examples(), re.MULTILINE)) - told.keys() - OWN
    passed_on = {key for key, value in service["environment"].items() if value is None}
    may_be_set = {key for key in documented if key.lower() in fields}
    yield from differ(f"{name}: what .env may set", sorted(passed_on), sorted(may_be_set))


def everything(embedded: Settings) -> list[Part]:
    """All parts, those that are only started when asked for among them."""
    switches = {process.switch: True for process in extra_processes().values()}
    extras = embedded.extras | switches
    return parts(embedded.model_copy(update={"extras": extras, "land": True}))


def without_place(value: str) -> str:
    """A URL without its host, a path without its folders; anything else as it is."""
    if "://" in value:
        return re.sub(r"(?<=[/@])[\w.-]+:\d+", "HOST", value)
    return re.sub(r"^[\w.-]+:\d+$", "HOST", value) if "/" not in value else Path(value).name


def postgres(service: Compose, embedded: Settings) -> Iterator[str]:
    """The same two files, and the same initdb."""
    (embedded.data_dir / "postgres").mkdir(parents=True, exist_ok=True)  # so that nothing is made
    database.prepare(embedded, lambda _name, _argv: None)
    conf = (embedded.run_dir / "postgresql.conf").read_text()
    used = re.findall(rf"^(?:include |hba_file = )'{ROOT}/(.+)'$", conf, re.MULTILINE)
    wanted = [
        f"-c{name}={target}" for name, target in (("config_file", used[0]), ("hba_file", used[1]))
    ]
    places = {target: source for source, target in mounts(service)}
    named = [argument for argument in service["command"] if "_file=" in argument]
    mounted = [
        f"{key}={places.get(place, place)}" for key, _, place in (n.partition("=") for n in named)
    ]
    yield from differ("postgres: settings files", mounted, wanted)
    ours = service["environment"]["POSTGRES_INITDB_ARGS"].split()
    about_data = ("--auth", "--encoding", "--locale", "--builtin")  # the rest is who and where
    theirs = [
        word for word in database.initdb(embedded, Path("data")) if word.startswith(about_data)
    ]
    yield from differ("postgres: initdb", sorted(ours), sorted(theirs))


def kafka(service: Compose, embedded: Settings) -> Iterator[str]:
    """connect/broker.properties, and under it nothing but places and one more listener."""
    broker.write_broker(
        embedded, embedded.data_dir / "kafka", embedded.run_dir / "broker.properties"
    )
    theirs = properties((embedded.run_dir / "broker.properties").read_text())
    [shared] = [
        source for source, target in mounts(service) if target.endswith("broker.properties")
    ]
    ours = properties((ROOT / shared).read_text()) | properties(
        service["environment"]["OF_THIS_MACHINE"]
    )
    yield from differ("kafka: settings", ours.keys(), theirs.keys())
    for key in sorted((ours.keys() & theirs.keys()) - BROKER):
        yield from differ(f"kafka: {key}", ours[key].replace(HOST_LISTENER, ""), theirs[key])
    yield from java("kafka", service, embedded.kafka_java_options)
    [logging] = [
        source for source, target in mounts(service) if target.endswith("log4j2.properties")
    ]
    yield from differ("kafka: logging", logging, str(broker.LOGGING.relative_to(ROOT)))


def connect(service: Compose, embedded: Settings) -> Iterator[str]:
    """connect/worker.properties, which the image starts with, and nothing over it."""
    broker.prepare_connect(embedded, lambda _name, _argv: None)
    theirs = properties((embedded.run_dir / "worker.properties").read_text())
    ours = properties((ROOT / "connect" / "worker.properties").read_text())
    started = (ROOT / "connect" / "Dockerfile").read_text()
    yield from differ(
        "connect: starts with worker.properties", "/opt/connect/worker.properties" in started, True
    )
    for key in sorted((ours.keys() | theirs.keys()) - WORKER):
        yield from differ(f"connect: {key}", ours.get(key), theirs.get(key))
    yield from differ("connect: command", service.get("command"), None)
    yield from java("connect", service, embedded.connect_java_options)


def java(name: str, service: Compose, options: str) -> Iterator[str]:
    """The same options for the virtual machine."""
    yield from differ(f"{name}: Java options", service["environment"]["KAFKA_HEAP_OPTS"], options)
    yield from differ(
        f"{name}: Java", service["environment"]["KAFKA_JVM_PERFORMANCE_OPTS"], broker.JAVA[0]
    )


def mounts(service: Compose) -> list[tuple[str, str]]:
    """The files of this repository that a container sees, and where."""
    parted = [volume.split(":") for volume in service["volumes"] if volume.startswith("./")]
    return [(source.removeprefix("./"), target) for source, target, _ in parted]


def properties(text: str) -> dict[str, str]:
    """Java properties; the later line wins."""
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}


def differ(what: str, ours: object, theirs: object) -> list[str]:
    """A sentence where they do."""
    return (
        [] if ours == theirs else [f"{what}: compose.yaml says {ours}, the embedded stack {theirs}"]
    )
