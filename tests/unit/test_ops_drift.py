"""compose.yaml and the embedded stack start the same parts with the same settings."""

import copy
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic_settings import BaseSettings

from access.collector import CollectorSettings
from connect.settings import Settings as Setup
from contract.names import DATABASE, OTHER_OUTBOXES
from migrations import server
from migrations.settings import Settings as Migrations
from ops.extra import extra_processes
from ops.settings import OUTBOXES, ROOT, Settings
from ops.stack import broker, database, files, worker
from ops.stack.kafka import JAVA, LOGGING
from ops.stack.part import Part, parts
from service.audit.settings import Settings as Audit
from service.settings import Settings as Service
from spark.settings import Settings as Spark
from tests.unit.compose_file import Compose, env_examples, read_compose

COMPOSE = read_compose()
SERVICES = COMPOSE["services"]


class PythonPart(NamedTuple):
    """A Python part of compose.yaml: its name in the embedded stack, and the settings it reads."""

    embedded_name: str
    fields: set[str]


# Where entries may go. The files beside these have to be mounted, so .env alone does not give them.
AUDIT_PLACES = {"audit_allowed_hosts", "audit_allowed_networks"}
SPANS = {*CollectorSettings.model_fields} - {"otel_service_name"}  # the name is each part's own
CORE = {
    "migrations": PythonPart("migrations", {*Migrations.model_fields}),
    "topics": PythonPart("topics", {*Setup.model_fields}),
    "connector": PythonPart("connectors", {*Setup.model_fields}),
    "audit": PythonPart("audit", {*Audit.model_fields, *SPANS}),
    "service": PythonPart("service", {*Service.model_fields, *AUDIT_PLACES, *SPANS}),
    "land": PythonPart("land", {*Spark.model_fields, *SPANS}),
}
# Each stack has its own place for these; that a part knows the place is compared.
PLACES = {"AUDIT_HOST", "AUDIT_PORT", "SERVICE_HOST", "SERVICE_PORT", "SPARK_JARS_DIR"}
BROKER_PLACES = {"listeners", "advertised.listeners", "controller.quorum.voters", "log.dirs"}
WORKER_PLACES = {
    "bootstrap.servers",
    "listeners",
    "plugin.path",
    "config.providers.dir.param.allowed.paths",
}
# For clients outside of the containers; the embedded stack has only those.
HOST_LISTENER = "HOST:PLAINTEXT,"


def embedded(tmp_path: Path, **changed: Any) -> Settings:
    """Return the embedded stack as it comes, whatever the shell or .env say."""
    return Settings(_env_file=None, run_dir=tmp_path, jars_dir=tmp_path, **changed)  # type: ignore[call-arg]


def python_parts(compose: Compose) -> dict[str, PythonPart]:
    """Return every Python part, those of extras too."""
    found = dict(CORE)
    for name in extra_processes():
        if name not in compose["services"]:
            continue  # the extra runs in the embedded stack alone
        own = import_module(f"extras.{name}.settings").Settings
        found[name] = PythonPart(name, {*own.model_fields, *of_service(own)})
    return found


def of_service(own: type[BaseSettings]) -> set[str]:
    """Return what an extra reads of the service's settings, if it is made like the service."""
    its_own_way = {"dedup_store", "input_topic", "group_id", "subscriber", "start_from"}
    is_like_the_service = hasattr(own, "service")
    return {*Service.model_fields} - its_own_way if is_like_the_service else set()


def drift(compose: Compose, stack: Settings) -> list[str]:
    """Return every difference that is not one of place, as a sentence."""
    services = compose["services"]
    found: list[str] = []
    for name, part in python_parts(compose).items():
        found += compare_command(services[name], name, part, stack)
        found += compare_environment(services[name], name, part, stack)
    found += compare_postgres(services["postgres"], stack)
    found += compare_kafka(services["kafka"], stack)
    found += compare_connect(services["connect"], stack)
    return found


def every_part(stack: Settings) -> list[Part]:
    """Return all parts, those that are only started when asked for among them."""
    switches = {process.switch: True for process in extra_processes().values()}
    asked = {"extras": stack.extras | switches, "land": True}
    return parts(stack.model_copy(update=asked))


def compare_command(
    service: Mapping[str, Any], name: str, part: PythonPart, stack: Settings
) -> list[str]:
    """Compare the module that is started, and its words."""
    commands: dict[str, list[str]] = {}
    for one in every_part(stack):
        commands |= {one.name: one.argv} | one.then
    ours = service["command"]
    theirs = commands[part.embedded_name]
    return differ(f"{name}: command", ours[1:], theirs[1:])


def compare_environment(
    service: Mapping[str, Any], name: str, part: PythonPart, stack: Settings
) -> Iterator[str]:
    """Compare what a part learns from its environment, and what a user may set there."""
    read = {
        key: value for key, value in service["environment"].items() if key.lower() in part.fields
    }
    ours = {key: str(value) for key, value in read.items() if value is not None}
    own = own_environment(part, stack)
    everything = stack.environment() | own
    theirs = {key: value for key, value in everything.items() if key.lower() in part.fields}
    for key in sorted(ours.keys() | theirs.keys()):
        if key in PLACES or key in own:
            yield from differ(f"{name}: {key} is set", key in ours, key in theirs)
        else:
            yield from differ(
                f"{name}: {key}", without_place(ours.get(key)), without_place(theirs.get(key))
            )
    documented = re.findall(r"^#(\w+)=", env_examples(), re.MULTILINE)
    may_be_set = {key for key in documented if key.lower() in part.fields}
    passed_on = {key for key, value in service["environment"].items() if value is None}
    yield from differ(
        f"{name}: what .env may set",
        sorted(passed_on),
        sorted(may_be_set - theirs.keys() - PLACES),
    )


def own_environment(part: PythonPart, stack: Settings) -> dict[str, str]:
    """Return what the embedded stack gives to this part alone."""
    for one in every_part(stack):
        if one.name == part.embedded_name:
            return one.env
    return {}


def without_place(value: str | None) -> str | None:
    """Return a URL without its host, a path without its folders; anything else as it is.

    Whether the network to a host is trusted belongs to the host.
    """
    if value is None:
        return None
    if "://" in value:
        value = value.removesuffix("?sslmode=disable")
        return re.sub(r"(?<=[/@])[\w.-]+:\d+", "HOST", value)
    if "/" in value:
        return Path(value).name
    return re.sub(r"^[\w.-]+:\d+$", "HOST", value)


def compare_postgres(service: Mapping[str, Any], stack: Settings) -> Iterator[str]:
    """Compare the two settings files, and initdb."""
    (stack.data_dir / "postgres").mkdir(parents=True, exist_ok=True)  # so that nothing is made
    database.prepare(stack, lambda _name, _argv: None)
    conf = (stack.run_dir / "postgresql.conf").read_text()
    config_file, hba_file = re.findall(
        rf"^(?:include |hba_file = )'{ROOT}/(.+)'$", conf, re.MULTILINE
    )
    sources = mounts(service)
    named = []
    for argument in service["command"]:
        key, _, target = argument.partition("=")
        if key.endswith("_file"):
            named.append(f"{key}={sources.get(target, target)}")
    wanted = [f"-cconfig_file={config_file}", f"-chba_file={hba_file}"]
    yield from differ("postgres: settings files", named, wanted)
    about_data = ("--auth", "--encoding", "--locale", "--builtin")  # the rest is who and where
    ours = service["environment"]["POSTGRES_INITDB_ARGS"].split()
    command = database.initdb(stack, Path("data"))
    theirs = [word for word in command if word.startswith(about_data)]
    yield from differ("postgres: initdb", sorted(ours), sorted(theirs))


def compare_kafka(service: Mapping[str, Any], stack: Settings) -> Iterator[str]:
    """Compare connect/broker.properties, with places and one more listener under it."""
    file = stack.run_dir / "broker.properties"
    broker.write_broker(stack, stack.data_dir / "kafka", file)
    theirs = properties(file.read_text())
    sources = mounts(service)
    ours = properties((ROOT / sources["/etc/kafka/broker.properties"]).read_text())
    ours |= properties(service["environment"]["OF_THIS_MACHINE"])
    yield from differ("kafka: settings", ours.keys(), theirs.keys())
    for key in sorted((ours.keys() & theirs.keys()) - BROKER_PLACES):
        yield from differ(f"kafka: {key}", ours[key].replace(HOST_LISTENER, ""), theirs[key])
    yield from compare_java("kafka", service, stack.kafka_java_options)
    logging = str(LOGGING.relative_to(ROOT))
    yield from differ("kafka: logging", sources["/etc/kafka/log4j2.properties"], logging)


def compare_connect(service: Mapping[str, Any], stack: Settings) -> Iterator[str]:
    """Compare connect/worker.properties, which the image starts with, and nothing over it."""
    worker.prepare(stack, lambda _name, _argv: None)
    theirs = properties((stack.run_dir / "worker.properties").read_text())
    ours = properties((ROOT / "connect" / "worker.properties").read_text())
    started = "/opt/connect/worker.properties" in (ROOT / "connect" / "Dockerfile").read_text()
    yield from differ("connect: starts with worker.properties", started, True)
    for key in sorted((ours.keys() | theirs.keys()) - WORKER_PLACES):
        yield from differ(f"connect: {key}", ours.get(key), theirs.get(key))
    yield from differ("connect: command", service.get("command"), None)
    yield from compare_java("connect", service, stack.connect_java_options)


def compare_java(name: str, service: Mapping[str, Any], options: str) -> Iterator[str]:
    """Compare the options of the virtual machine."""
    environment = service["environment"]
    yield from differ(f"{name}: Java options", environment["KAFKA_HEAP_OPTS"], options)
    yield from differ(f"{name}: Java", environment["KAFKA_JVM_PERFORMANCE_OPTS"], JAVA[0])


def mounts(service: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of this repository that a container sees, by where it sees them."""
    found = {}
    for volume in service["volumes"]:
        if volume.startswith("./"):
            source, target, _ = volume.split(":")
            found[target] = source.removeprefix("./")
    return found


def properties(text: str) -> dict[str, str]:
    """Read Java properties; the later line wins."""
    found = {}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if line.strip() and not line.strip().startswith("#"):
            found[key.strip()] = value.strip()
    return found


def differ(what: str, ours: object, theirs: object) -> list[str]:
    """Return a sentence if they do."""
    if ours == theirs:
        return []
    return [f"{what}: compose.yaml says {ours}, the embedded stack {theirs}"]


def test_both_stacks_have_the_same_settings(tmp_path: Path) -> None:
    """Commands, environment, settings files, Java options differ in places, in nothing else."""
    assert drift(COMPOSE, embedded(tmp_path)) == []


Change = Callable[[dict[str, dict[str, Any]]], object]


def put(service: str, section: str, key: str, value: Any) -> Change:
    """Change one setting in compose.yaml."""
    return lambda services: services[service][section].__setitem__(key, value)


def take(service: str, section: str, key: Any) -> Change:
    """Take one setting out of compose.yaml."""
    return lambda services: services[service][section].pop(key)


def add_line(service: str, key: str, line: str) -> Change:
    """Add a line to a setting that has several."""

    def change(services: dict[str, dict[str, Any]]) -> None:
        services[service]["environment"][key] += line

    return change


OTHER_ROLE = "postgresql://postgres@postgres:5432/fulfillment"
OTHER_PASSWORD = "/run/secrets/app_password"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (put("service", "environment", "DATABASE_URL", OTHER_ROLE), "DATABASE_URL"),
        (put("service", "environment", "GROUP_ID", "another"), "GROUP_ID"),
        (put("service", "environment", "SUBSCRIBER", "another"), "SUBSCRIBER"),
        (put("topics", "environment", "INPUT_TOPIC", "another"), "INPUT_TOPIC"),
        (put("service", "environment", "BATCH_RECORDS", 100), "BATCH_RECORDS"),
        (
            put("audit", "environment", "AUDIT_DATABASE_PASSWORD_FILE", OTHER_PASSWORD),
            "PASSWORD_FILE",
        ),
        (take("service", "environment", "SESSION_TIMEOUT_MS"), "SESSION_TIMEOUT_MS"),
        (put("service", "environment", "BATCH_LINGER_MS", None), "BATCH_LINGER_MS"),
        (take("land", "environment", "DELTA_ROOT"), "DELTA_ROOT"),
        (lambda services: services["land"]["command"].append("--once"), "land: command"),
        (take("postgres", "command", 2), "postgres: settings files"),
        (put("postgres", "environment", "POSTGRES_INITDB_ARGS", "--auth=trust"), "initdb"),
        (put("kafka", "environment", "KAFKA_HEAP_OPTS", "-Xmx1g"), "kafka: Java"),
        (
            add_line("kafka", "OF_THIS_MACHINE", "auto.create.topics.enable=true\n"),
            "auto.create.topics.enable",
        ),
        (
            put("connect", "environment", "KAFKA_JVM_PERFORMANCE_OPTS", "-XX:+UseG1GC"),
            "connect: Java",
        ),
    ],
)
def test_a_setting_changed_in_compose_is_noticed(
    tmp_path: Path, change: Change, named: str
) -> None:
    """One setting changed in compose.yaml is one sentence that names it."""
    changed = copy.deepcopy(COMPOSE)
    change(changed["services"])
    found = drift(changed, embedded(tmp_path))
    assert found
    assert [sentence for sentence in found if named not in sentence] == []


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"group_id": "another"}, "GROUP_ID"),
        ({"input_topic": "another"}, "INPUT_TOPIC"),
        ({"kafka_java_options": "-Xmx2g"}, "Java"),
        ({"connect_java_options": ""}, "Java"),
    ],
)
def test_a_setting_changed_in_the_embedded_stack_is_noticed(
    tmp_path: Path, changed: dict[str, Any], named: str
) -> None:
    """One setting changed on the other side is noticed as well."""
    found = drift(COMPOSE, embedded(tmp_path, **changed))
    assert found
    assert [sentence for sentence in found if named not in sentence] == []


def test_both_stacks_know_every_outbox(tmp_path: Path) -> None:
    """Each database of the contract has an address that every part learns."""
    named = {DATABASE, *OTHER_OUTBOXES.values()}
    assert OUTBOXES.keys() == named, "OUTBOXES in ops/settings.py, and contract/names.py"
    addresses = embedded(tmp_path).environment()
    assert {addresses[url].rpartition("/")[2] for url in OUTBOXES.values()} == OUTBOXES.keys()


def test_every_role_has_its_secret() -> None:
    """Each role that logs in has a password: the one-shot makes it, and the embedded stack."""
    of_migrations = {role for role, how in server.ROLES.items() if how != "nologin"}
    assert of_migrations | {"postgres"} == set(files.ROLES), (
        "ops/stack/files.py, migrations/server.py"
    )
    script = SERVICES["secrets"]["command"][2]
    groups = dict(re.findall(r"^make (\w+) (\d+)$", script, re.MULTILINE))
    assert tuple(groups) == files.ROLES
    of_tokens = re.findall(r"^write \w+ (\d+)", script, re.MULTILINE)
    assert SERVICES["secrets"]["group_add"] == [*groups.values(), *of_tokens]
    logs_in = {"postgres": "postgres", "service": "app", "audit": "audit", "connect": "cdc"}
    for name, role in logs_in.items():
        assert SERVICES[name]["group_add"] == [groups[role]]


@pytest.mark.parametrize(
    "command",
    ["ops.demo", "ops.produce", "ops.status", "ops.forget", "ops.outbox", "ops.stack.stack"],
)
def test_what_the_image_of_the_demo_holds_is_enough(command: str) -> None:
    """Its commands are imported without the folders of the core that the image leaves out."""
    dockerfile = (ROOT / "spark" / "Dockerfile").read_text()
    held = set(re.findall(r"^COPY (\w+) \1$", dockerfile, re.MULTILINE))
    absent = {"service", "connect", "migrations", "spark"} - held
    assert absent, "the image holds all of the core: then there is nothing to test"
    code = f"import sys; sys.modules.update(dict.fromkeys({sorted(absent)})); import {command}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
