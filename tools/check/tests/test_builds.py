"""The version of a client that a project installs is the one that is judged."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline_check.command import app
from pipeline_check.reading.builds import version_near

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <parent>
    <groupId>org.springframework.boot</groupId>
    <artifactId>spring-boot-starter-parent</artifactId>
    <version>2.5.14</version>
  </parent>
  <properties>{properties}</properties>
  <dependencies>{dependencies}</dependencies>
</project>
"""
CLIENTS = """
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-clients</artifactId>
      <version>{version}</version>
    </dependency>"""
CATALOG = """
[versions]
kafka = "3.1.0"
boot = "2.7.18"
[libraries]
clients = { module = "org.apache.kafka:kafka-clients", version.ref = "kafka" }
[plugins]
boot = { id = "org.springframework.boot", version.ref = "boot" }
"""
PYTHON = {
    "requirements.txt": "flask==2\nkafka-python==2.0.2 --hash=sha256:00\n",
    "requirements-dev.txt": "kafka-python[crc32c] == 2.0.2 ; python_version < '4'\n",
    "requirements/base.txt": "kafka-python~=2.0.2\n",
    "constraints.txt": "Kafka-Python==2.0.2\n",
    "setup.py": "setup(install_requires=['kafka-python>=2.0.2,<2.1'])\n",
    "setup.cfg": "install_requires =\n    kafka-python==2.0.2\n",
    "pyproject.toml": '[project]\ndependencies = ["kafka-python==2.0.2"]\n',
    "Pipfile": '[packages]\nkafka-python = "==2.0.2"\n',
    "Pipfile.lock": '{"default": {"kafka-python": {"version": "==2.0.2"}}}',
    "poetry.lock": '[[package]]\nname = "kafka-python"\nversion = "2.0.2"\n',
    "uv.lock": '[[package]]\nname = "kafka-python"\nversion = "2.0.2"\nsource = {}\n',
}
JAVA = {
    "by Spring Boot": ("pom.xml", POM.format(properties="", dependencies=""), (2, 7, 2)),
    "by a property": (
        "pom.xml",
        POM.format(
            properties="<kafka.version>3.1.0</kafka.version>",
            dependencies="",
        ),
        (3, 1, 0),
    ),
    "as a dependency": (
        "pom.xml",
        POM.format(properties="", dependencies=CLIENTS.format(version="2.8.1")),
        (2, 8, 1),
    ),
    "as a dependency with a property": (
        "pom.xml",
        POM.format(
            properties="<clients>3.9.1</clients>",
            dependencies=CLIENTS.format(version="${clients}"),
        ),
        (3, 9, 1),
    ),
    "Gradle": (
        "build.gradle",
        "implementation 'org.apache.kafka:kafka-clients:2.8.1'",
        (2, 8, 1),
    ),
    "Gradle and Spring Boot": (
        "build.gradle.kts",
        'plugins { id("org.springframework.boot") version "2.6.1" }',
        (3, 0, 2),
    ),
    "Gradle and a property": (
        "build.gradle",
        "id 'org.springframework.boot' version '2.6.1'\next['kafka.version'] = '3.6.0'",
        (3, 6, 0),
    ),
    "Gradle's catalog": ("gradle/libs.versions.toml", CATALOG, (3, 1, 0)),
}
NOTHING = {
    "a range without an end": ("requirements.txt", "kafka-python>=2.0\n"),
    "no version": ("requirements.txt", "kafka-python\n"),
    "a comment": ("requirements.txt", "# kafka-python==2.0.2\n"),
    "another package": ("requirements.txt", "kafka-python-helpers==2.2.3\nmy-kafka-python==1.0\n"),
    "no TOML": ("gradle/libs.versions.toml", "kafka-clients = = 3"),
    "no XML": ("pom.xml", "<project><version>3.1.0"),
    "a document type": ("pom.xml", '<!DOCTYPE a [<!ENTITY b "c">]><project/>'),
    "an unknown Spring Boot": (
        "build.gradle",
        "id 'org.springframework.boot' version '9.9.9'",
    ),
    "another property's name": (
        "pom.xml",
        POM.format(properties="", dependencies=CLIENTS.format(version="${k}")).replace(
            "2.5.14", "9.9"
        ),
    ),
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder that is a repository's root."""
    (tmp_path / ".git").mkdir()
    return tmp_path


def write(file: Path, text: str) -> None:
    """Write a file, and its folder if need be."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize("name", PYTHON)
def test_a_version_is_read_from_pythons_build_files(repository: Path, name: str) -> None:
    """A pin, a lock, or the lowest version of a range that has an end."""
    write(repository / name, PYTHON[name])
    found = version_near(str(repository / "app" / "send.py"), "kafka-python")
    assert found is not None
    assert found.version == (2, 0, 2)
    assert found.place.startswith(str(repository / name))


@pytest.mark.parametrize("case", JAVA)
def test_a_version_is_read_from_javas_build_files(repository: Path, case: str) -> None:
    """A dependency wins over a property, and that over what Spring Boot brings along."""
    name, text, version = JAVA[case]
    write(repository / name, text)
    found = version_near(str(repository / "src" / "application.properties"), "java")
    assert found is not None
    assert found.version == version


@pytest.mark.parametrize("case", NOTHING)
def test_what_names_no_version_says_nothing(repository: Path, case: str) -> None:
    """It guesses nothing, and a file that is not what its name promises is passed over."""
    name, text = NOTHING[case]
    write(repository / name, text)
    for client in ("kafka-python", "java"):
        assert version_near(str(repository / "file"), client) is None


def test_the_nearest_file_upwards_wins(repository: Path) -> None:
    """A service's own requirements come before those of the whole repository."""
    write(repository / "requirements.txt", "kafka-python==2.0.2\n")
    write(repository / "new" / "requirements.txt", "kafka-python==3.0.12\n")
    places = {
        name: version_near(str(repository / name / "send.py"), "kafka-python")
        for name in ("old", "new")
    }
    versions = {name: found.version for name, found in places.items() if found}
    assert versions == {"old": (2, 0, 2), "new": (3, 0, 12)}


def test_what_lies_above_the_repository_does_not_count(tmp_path: Path) -> None:
    """Another project's build file says nothing about this one."""
    write(tmp_path / "requirements.txt", "kafka-python==2.0.2\n")
    (tmp_path / "mine" / ".git").mkdir(parents=True)
    assert version_near(str(tmp_path / "mine" / "send.py"), "kafka-python") is None


def test_the_verdict_is_that_of_the_version_and_names_its_place(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version that the user names wins over the build."""
    write(repository / "requirements.txt", "flask\nkafka-python==2.0.2\n")
    write(repository / "send.py", "from kafka import KafkaProducer\nproducer = KafkaProducer()\n")
    monkeypatch.chdir(repository)

    def said(*options: str) -> dict[str, str]:
        shown = json.loads(CliRunner().invoke(app, ["--json", *options, "."]).stdout)
        producer: dict[str, str] = shown["producers"][0]
        return {name: producer[name] for name in ("verdict", "version", "version_from")}

    assert said() == {
        "verdict": "not_idempotent",
        "version": "2.0.2",
        "version_from": "requirements.txt:2",
    }
    assert said("--client-version", "kafka-python=3.0.12") == {
        "verdict": "idempotent",
        "version": "3.0.12",
        "version_from": "",
    }
    table = CliRunner().invoke(app, ["."]).stdout
    assert "version: requirements.txt:2" in table


QUARKUS = """
<project><properties>
  <quarkus.platform.version>2.16.3.Final</quarkus.platform.version>
</properties></project>
"""


@pytest.mark.parametrize(
    ("name", "text", "version"),
    [
        ("gradle.properties", "micronautVersion=3.2.3\n", (2, 8, 0)),
        ("gradle.properties", "quarkusPlatformVersion=3.11.3\n", (3, 4, 0)),
        (
            "pom.xml",
            QUARKUS,
            (3, 2, 0),
        ),
        (
            "pom.xml",
            "<project><properties><micronaut.version>4.3.1</micronaut.version></properties></project>",
            (3, 4, 0),
        ),
    ],
)
def test_a_framework_brings_a_version_along(
    tmp_path: Path, name: str, text: str, version: tuple[int, ...]
) -> None:
    """Micronaut and Quarkus name theirs as a property."""
    tmp_path.joinpath(name).write_text(text)
    tmp_path.joinpath(".git").mkdir()
    build = version_near(str(tmp_path / "application.yml"), "java")
    assert build
    assert build.version == version


SPRING_KAFKA = "implementation 'org.springframework.kafka:spring-kafka:2.8.3'\n"


@pytest.mark.parametrize(
    ("name", "text", "client", "version"),
    [
        (
            "build.gradle",
            "implementation 'org.springframework.kafka:spring-kafka:2.8.3'\n",
            "java",
            (3, 0, 0),
        ),
        ("requirements.txt", "kafka-python-ng==2.2.3\n", "kafka-python", (2, 0, 2)),
    ],
)
def test_another_library_decides_the_version(
    tmp_path: Path, name: str, text: str, client: str, version: tuple[int, ...]
) -> None:
    """Spring Kafka without Boot brings its own; a fork has numbers that promise too much."""
    tmp_path.joinpath(name).write_text(text)
    tmp_path.joinpath(".git").mkdir()
    build = version_near(str(tmp_path / "producer.properties"), client)
    assert build
    assert build.version == version


def test_spring_boot_decides_before_spring_kafka(tmp_path: Path) -> None:
    """Its list of versions holds for what it manages."""
    tmp_path.joinpath("build.gradle").write_text(
        f"id 'org.springframework.boot' version '3.3.1'\n{SPRING_KAFKA}"
    )
    tmp_path.joinpath(".git").mkdir()
    build = version_near(str(tmp_path / "producer.properties"), "java")
    assert build
    assert build.version == (3, 7, 2)
