"""compose.yaml and the embedded stack are one truth, and every container is as closed as it can be; without Docker."""

import copy
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ops.settings import ROOT, Settings
from ops.stack import files
from tests.unit.drift import compose_files, drift, env_examples, read_compose

COMPOSE = read_compose()
SERVICES: dict[str, Any] = COMPOSE["services"]
TEXT = "".join(file.read_text() for file in compose_files())


def embedded(tmp_path: Path, **changed: Any) -> Settings:
    """The embedded stack as it comes, whatever the shell or .env say."""
    return Settings(_env_file=None, run_dir=tmp_path, jars_dir=tmp_path, **changed)  # type: ignore[call-arg]


def test_both_stacks_have_the_same_settings(tmp_path: Path) -> None:
    """Commands, environment, settings files and Java options differ in places, and in nothing else."""
    assert drift(COMPOSE, embedded(tmp_path)) == []


def put(service: str, section: str, key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change of one setting in compose.yaml."""
    return lambda services: services[service][section].__setitem__(key, value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            put(
                "service",
                "environment",
                "DATABASE_URL",
                "postgresql://postgres@postgres:5432/fulfillment",
            ),
            "DATABASE_URL",
        ),
        (put("service", "environment", "GROUP_ID", "another"), "GROUP_ID"),
        (put("service", "environment", "BATCH_RECORDS", 100), "BATCH_RECORDS"),
        (
            put(
                "audit", "environment", "AUDIT_DATABASE_PASSWORD_FILE", "/run/secrets/app_password"
            ),
            "PASSWORD_FILE",
        ),
        (
            lambda services: services["service"]["environment"].pop("SESSION_TIMEOUT_MS"),
            "SESSION_TIMEOUT_MS",
        ),
        (put("service", "environment", "BATCH_LINGER_MS", None), "BATCH_LINGER_MS"),
        (lambda services: services["land"]["environment"].pop("DELTA_ROOT"), "DELTA_ROOT"),
        (lambda services: services["land"]["command"].append("--once"), "land: command"),
        (lambda services: services["postgres"]["command"].pop(2), "postgres: settings files"),
        (put("postgres", "environment", "POSTGRES_INITDB_ARGS", "--auth=trust"), "initdb"),
        (put("kafka", "environment", "KAFKA_HEAP_OPTS", "-Xmx1g"), "kafka: Java"),
        (
            lambda services: services["kafka"]["environment"].__setitem__(
                "OF_THIS_MACHINE",
                services["kafka"]["environment"]["OF_THIS_MACHINE"]
                + "auto.create.topics.enable=true\n",
            ),
            "auto.create.topics.enable",
        ),
        (
            put("connect", "environment", "KAFKA_JVM_PERFORMANCE_OPTS", "-XX:+UseG1GC"),
            "connect: Java",
        ),
    ],
)
def test_a_setting_changed_in_compose_is_noticed(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], said: str
) -> None:
    """One setting changed in compose.yaml is one sentence that names it."""
    changed = copy.deepcopy(COMPOSE)
    change(changed["services"])
    found = drift(changed, embedded(tmp_path))
    assert found
    assert all(said in sentence for sentence in found)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"group_id": "another"}, "GROUP_ID"),
        ({"kafka_java_options": "-Xmx2g"}, "Java"),
        ({"connect_java_options": ""}, "Java"),
    ],
)
def test_a_setting_changed_in_the_embedded_stack_is_noticed(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    """One setting changed on the other side is noticed as well."""
    found = drift(COMPOSE, embedded(tmp_path, **changed))
    assert found
    assert all(said in sentence for sentence in found)


def test_every_one_shot_is_waited_for() -> None:
    """`up --wait` takes a one-shot that ended for a failure, unless something depends on its success."""
    waited_for = {
        name
        for service in SERVICES.values()
        for name, how in service.get("depends_on", {}).items()
        if how["condition"] == "service_completed_successfully"
    }
    started = {name for name, service in SERVICES.items() if "profiles" not in service}
    staying = {name for name in started if "healthcheck" in SERVICES[name]}
    assert started - staying == waited_for
    assert {name for name in started if "restart" in SERVICES[name]} == staying


def test_every_container_is_closed() -> None:
    """Read-only, without capabilities, unable to gain any, bounded in memory; open on this machine only."""
    for name, service in SERVICES.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "cap_add" not in service, name
        assert "privileged" not in service, name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["mem_limit"], name
        assert all(
            re.match(r"127\.0\.0\.1:[\d-]+:\d+$", port) for port in service.get("ports", [])
        ), name


def test_every_published_port_is_a_variable() -> None:
    """Whoever has a port in use can choose another."""
    published = re.findall(r"127\.0\.0\.1:(\S+):\d+\"\]", TEXT)
    assert len(published) == sum(len(service.get("ports", [])) for service in SERVICES.values())
    assert [port for port in published if not re.fullmatch(r"\$\{[A-Z_]+:-[\d-]+\}", port)] == []


def test_every_variable_is_explained() -> None:
    """What compose.yaml takes from the environment stands in .env.example, with the same default."""
    documented = dict(re.findall(r"^#(\w+)=(.*?)(?: +#.*)?$", env_examples(), re.MULTILINE))
    taken = dict(re.findall(r"\$\{(\w+):-([^}]*)\}", TEXT))
    passed_on = re.findall(r"^ +([A-Z_]+):(?: #.*)?$", TEXT, re.MULTILINE)
    assert {name: documented.get(name) for name in taken} == taken
    assert [name for name in passed_on if name not in documented] == []


def test_the_images_install_what_the_lock_says() -> None:
    """The images have fewer packages than a checkout, and no other versions."""
    pins = re.compile(r"^([\w-]+==\S+)", re.MULTILINE)
    whole = set(pins.findall((ROOT / "requirements.lock").read_text()))
    for lock in ("service", "spark"):
        assert set(pins.findall((ROOT / lock / "requirements.lock").read_text())) < whole


def test_the_setup_image_has_what_its_code_imports() -> None:
    """The image of the one-shots holds connect, contract and the service's packages: enough."""
    lock = (ROOT / "service" / "requirements.lock").read_text()
    packages = re.findall(r"^([\w-]+)==", lock, re.MULTILINE)
    others = set()
    for file in (ROOT / "connect").glob("*.py"):
        imported = re.findall(r"^(?:from|import) ([\w.]+)", file.read_text(), re.MULTILINE)
        others |= {name.partition(".")[0] for name in imported}
    dockerfile = (ROOT / "service" / "Dockerfile").read_text()
    copied = set(re.findall(r"^COPY (\w+) \1$", dockerfile, re.MULTILINE))
    known = {name.replace("-", "_") for name in packages} | sys.stdlib_module_names | copied
    assert "confluent_kafka" in others, "no import was read"
    assert others - known == set()


def test_every_role_has_its_secret() -> None:
    """The one-shot makes a password for each role for which the embedded stack makes one."""
    made = re.findall(r"^make (\w+) (\d+)$", SERVICES["secrets"]["command"][2], re.MULTILINE)
    assert tuple(role for role, _ in made) == files.ROLES
    assert SERVICES["secrets"]["group_add"] == [group for _, group in made]
    for name, role in {
        "postgres": "postgres",
        "service": "app",
        "audit": "audit",
        "connect": "cdc",
    }.items():
        assert SERVICES[name]["group_add"] == [dict(made)[role]]


@pytest.mark.parametrize(
    "command", ["ops.demo", "ops.produce", "ops.status", "ops.forget", "ops.stack.stack"]
)
def test_what_the_image_of_the_demo_holds_is_enough(command: str) -> None:
    """Its commands are imported without the folders of the core that the image leaves out."""
    held = set(
        re.findall(r"^COPY (\w+) \1$", (ROOT / "spark" / "Dockerfile").read_text(), re.MULTILINE)
    )
    absent = {"service", "connect", "migrations", "spark"} - held
    assert absent, "the image holds all of the core: then there is nothing to test"
    code = f"import sys; sys.modules.update(dict.fromkeys({sorted(absent)})); import {command}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
