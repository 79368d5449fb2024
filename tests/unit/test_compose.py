"""compose.yaml without Docker: containers are closed, settings explained, images complete."""

import ast
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.compose_file import ROOT, compose_files, env_examples, read_compose

SERVICES = read_compose()["services"]
TEXT = "".join(file.read_text() for file in compose_files())


def test_every_one_shot_is_waited_for() -> None:
    """`up --wait` takes a one-shot that ended for a failure, unless something waits for its end."""
    waited_for = set()
    for service in SERVICES.values():
        for name, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_completed_successfully":
                waited_for.add(name)
    started = {name for name, service in SERVICES.items() if "profiles" not in service}
    staying = {name for name in started if "healthcheck" in SERVICES[name]}
    assert started - staying == waited_for
    assert {name for name in started if "restart" in SERVICES[name]} == staying


def test_everything_that_is_waited_for_is_there() -> None:
    """A part that was taken out of the file is waited for by nobody."""
    for name, service in SERVICES.items():
        assert set(service.get("depends_on", {})) - SERVICES.keys() == set(), name


def test_every_container_is_closed() -> None:
    """Read-only, no capabilities, none to gain, bounded in memory, no core dump; open here only."""
    for name, service in SERVICES.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "cap_add" not in service, name
        assert "privileged" not in service, name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["mem_limit"], name
        assert service["ulimits"] == {"core": 0}, name
        for port in service.get("ports", []):
            assert re.match(r"127\.0\.0\.1:[\d-]+:\d+$", port), name


def test_every_published_port_is_a_variable() -> None:
    """A user who needs a port for something else can choose another."""
    published = re.findall(r"127\.0\.0\.1:(\S+):\d+\"\]", TEXT)
    assert len(published) == sum(len(service.get("ports", [])) for service in SERVICES.values())
    assert [port for port in published if not re.fullmatch(r"\$\{[A-Z_]+:-[\d-]+\}", port)] == []


def test_every_variable_is_explained() -> None:
    """What compose.yaml takes from the environment is in .env.example, with the same default."""
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


def copied(dockerfile: Path) -> set[str]:
    """Return the folders of ours that an image has; `extra[s]` may be missing in a copy."""
    words = re.findall(r"^COPY ([\w\[\]]+) (\w+)$", dockerfile.read_text(), re.MULTILINE)
    return {
        target for source, target in words if source.replace("[", "").replace("]", "") == target
    }


def imported(folder: str) -> set[str]:
    """Return the first names of everything that the files of a folder import."""
    names = set()
    for file in (ROOT / folder).rglob("*.py"):
        if "tests" in file.relative_to(ROOT).parts:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add((node.module or "").partition(".")[0])
    return names


@pytest.mark.parametrize(
    ("image", "folders", "needed"),
    [
        ("service", ["service", "migrations", "connect"], {"contract", "service", "migrations"}),
        ("spark", ["spark"], {"contract", "spark"}),
    ],
)
def test_an_image_has_what_its_code_imports(
    image: str, folders: list[str], needed: set[str]
) -> None:
    """Folders of ours, packages of the image's lock, Python's own modules: nothing else."""
    lock = (ROOT / image / "requirements.lock").read_text()
    packages = {name.replace("-", "_") for name in re.findall(r"^([\w-]+)==", lock, re.MULTILINE)}
    others = {"delta", "dotenv", "prometheus_client"}  # named otherwise than their packages
    held = copied(ROOT / image / "Dockerfile")
    assert needed <= held
    for folder in folders:
        missing = imported(folder) - packages - others - held - sys.stdlib_module_names
        assert missing == set(), folder
    assert held <= set(re.findall(r"^!(\w+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))


def test_a_part_that_writes_temporary_files_has_a_place_for_them() -> None:
    """Its root file system is read-only: without a tmpfs it would end when it writes the first."""
    parts = {}
    for name, service in SERVICES.items():
        command = service.get("command") or service.get("entrypoint") or []
        if "-m" in command:
            parts[name] = command[command.index("-m") + 1].partition(".")[0]
    writing = {name for name, folder in parts.items() if "tempfile" in imported(folder)}
    assert "migrations" in writing
    for name in writing:
        mounts = [mount.partition(":")[0] for mount in SERVICES[name].get("tmpfs", [])]
        assert "/tmp" in mounts, name  # noqa: S108 - of a container


SECURE = ROOT / "compose.secure.yaml"
CLUSTER = ROOT / "compose.cluster.yaml"


class Loader(yaml.SafeLoader):
    """Reads what replaces a list of compose.yaml, instead of adding to it."""


def as_list(loader: Loader, node: yaml.SequenceNode) -> list[Any]:
    """Return what stands behind !override."""
    return list(loader.construct_sequence(node))


Loader.add_constructor("!override", as_list)


def read_cluster() -> dict[str, Any]:
    """Return the services of compose.cluster.yaml."""
    services: dict[str, Any] = yaml.load(CLUSTER.read_text(), Loader)["services"]  # noqa: S506 - it is a safe one
    return services


def test_every_job_of_a_cluster_has_its_settings() -> None:
    """Whatever runs Spark in compose.yaml knows the cluster and the bucket, and gets the secret."""
    cluster = read_cluster()
    of_the_core = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    jobs = [
        name for name, one in of_the_core.items() if "SPARK_JARS_DIR" in one.get("environment", {})
    ]
    assert {"land", "reconcile", "retention"} <= set(jobs)
    for name in jobs:
        job = cluster[name]
        assert job["environment"]["DELTA_ROOT"].startswith("s3a://"), name
        started = job.get("entrypoint") or job["command"]
        assert started[0] == "/app/spark/cluster/run.sh", name
        assert job["build"]["target"].startswith("cluster"), name


def test_what_a_cluster_adds_is_hardened() -> None:
    """Each new part has no capability and a root file system that it cannot write."""
    cluster = read_cluster()
    of_the_core = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    new = [one for name, one in cluster.items() if name not in of_the_core and "extends" not in one]
    assert len(new) > 4
    for one in new:
        assert one["cap_drop"] == ["ALL"]
        assert one["read_only"] is True
        assert one["ulimits"] == {"core": 0}


def test_every_part_with_a_client_knows_the_three_brokers() -> None:
    """Whoever asks one broker alone would stand still with it."""
    for name, one in read_cluster().items():
        environment = one.get("environment", {})
        if "KAFKA_BOOTSTRAP_SERVERS" in environment:
            assert environment["KAFKA_BOOTSTRAP_SERVERS"].count(":9092") == 3, name
    clients = {"topics", "connector", "service", "land", "reconcile"}
    assert all("KAFKA_BOOTSTRAP_SERVERS" in read_cluster()[name]["environment"] for name in clients)


def test_every_part_with_a_client_is_secured() -> None:
    """compose.secure.yaml has each part of compose.yaml, apart from those that call nobody."""
    secured = yaml.safe_load(SECURE.read_text())["services"]
    of_the_core = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    observing = {"prometheus", "alertmanager", "grafana"}
    assert of_the_core.keys() - secured.keys() == {"preflight", "secrets", *observing}
    new = secured.keys() - of_the_core.keys()
    assert new == {"certificates", "users", "acls"}
    waited_for = {name for one in secured.values() for name in one.get("depends_on", {})}
    assert new <= waited_for
    for name in new:
        assert secured[name]["cap_drop"] == ["ALL"]
        assert secured[name]["read_only"] is True
        assert secured[name]["ulimits"] == {"core": 0}


def test_an_extra_with_containers_can_be_secured() -> None:
    """Each of its parts that knows the broker logs in as somebody, and trusts our CA alone."""
    for plain in ROOT.glob("extras/*/compose.yaml"):
        secured = yaml.safe_load(plain.with_name("compose.secure.yaml").read_text())["services"]
        for name, part in yaml.safe_load(plain.read_text())["services"].items():
            calls_the_broker = "topics" in part.get("depends_on", {}) or name == "aggregator"
            if calls_the_broker:
                environment = secured[name]["environment"]
                assert environment["KAFKA_SASL_USERNAME"], name
                assert environment["KAFKA_SSL_CA_FILE"] == "/run/tls/ca.pem", name


def test_no_address_of_a_secured_part_is_in_clear() -> None:
    """Each URL checks whom it talks to; the only listener in clear is the health check's own."""
    lines = [line.split("#")[0] for line in SECURE.read_text().splitlines()]
    urls = re.findall(r"(?:postgresql|https?)://\S+", "\n".join(lines))
    in_clear = [url for url in urls if "https://" not in url and "sslmode=verify-full" not in url]
    assert in_clear == []
    [listeners] = [line for line in lines if "listeners=https" in line]
    assert listeners.endswith(",http://127.0.0.1:8084")
    assert "PLAINTEXT" not in "\n".join(lines)


def test_the_groups_of_the_files_are_those_of_the_containers() -> None:
    """What connect/certificates.sh gives to a group, some container is in that group to read."""
    given = set(re.findall(r"\b200\d\d\b", (ROOT / "connect" / "certificates.sh").read_text()))
    known = set(re.findall(r'"(200\d\d)"', SECURE.read_text()))
    assert given == known
