"""The version of a client that a project installs is the one that is judged."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline_check.command import app
from pipeline_check.reading.builds import version_near
from pipeline_check.reading.images import kafka_in

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
IN_PARTS = """
ext { clients = '2.6.0' }
compile group: 'org.apache.kafka', name: 'kafka-clients', version: clients
"""
BOOT_AS_A_VARIABLE = """
ext { boot = '2.1.6.RELEASE' }
classpath("org.springframework.boot:spring-boot-gradle-plugin:${boot}")
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
        (3, 0, 0),
    ),
    "Gradle and a property": (
        "build.gradle",
        "id 'org.springframework.boot' version '2.6.1'\next['kafka.version'] = '3.6.0'",
        (3, 6, 0),
    ),
    "Spring Boot with the bug mended": (
        "build.gradle",
        "id 'org.springframework.boot' version '2.6.7'",
        (3, 0, 1),
    ),
    "Gradle, in three parts": (
        "build.gradle",
        "compile group: 'org.apache.kafka', name: 'kafka-clients', version: '2.6.0'",
        (2, 6, 0),
    ),
    "Gradle and a variable": (
        "build.gradle.kts",
        'val kafka = "2.6.0"\nimplementation("org.apache.kafka:kafka-clients:$kafka")',
        (2, 6, 0),
    ),
    "Gradle, in three parts with a variable": (
        "build.gradle",
        IN_PARTS,
        (2, 6, 0),
    ),
    "Spring Boot as a variable": (
        "build.gradle",
        BOOT_AS_A_VARIABLE,
        (2, 0, 1),
    ),
    "gradle.properties": ("gradle.properties", "kafkaVersion=2.6.0\n", (2, 6, 0)),
    "another artifact of Kafka": (
        "pom.xml",
        POM.format(properties="", dependencies=CLIENTS.format(version="2.1.1")).replace(
            "kafka-clients", "kafka_2.12"
        ),
        (2, 1, 1),
    ),
    "Confluent's build, whose number is the platform's": (
        "pom.xml",
        POM.format(properties="", dependencies=CLIENTS.format(version="5.5.1-ccs")),
        (2, 5, 0),
    ),
    "sbt": (
        "build.sbt",
        'libraryDependencies += "org.apache.kafka" % "kafka-clients" % "2.8.0"',
        (2, 8, 0),
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


NPM = '{"dependencies": {"kafkajs": "%s"}}'
LOCK = '{"packages": {"node_modules/kafkajs": {"version": "2.2.3"}}}'
YARN = 'kafkajs@^2.2.0:\n  version "2.2.3"\n'
GO_REPLACED = """
require github.com/Shopify/sarama v1.20.0
replace github.com/Shopify/sarama => github.com/IBM/sarama v1.43.2
"""
GO = "module a\n\nrequire (\n\t%s\n)\n"


@pytest.mark.parametrize(
    ("name", "text", "source", "found"),
    [
        ("package.json", NPM % "^2.2.3", "a.ts", ("kafkajs", (2, 2, 3))),
        ("package.json", NPM % "1.16.0", "a.js", ("kafkajs", (1, 16, 0))),
        ("package-lock.json", LOCK, "a.js", ("kafkajs", (2, 2, 3))),
        ("yarn.lock", YARN, "a.js", ("kafkajs", (2, 2, 3))),
        (
            "package.json",
            '{"dependencies": {"node-rdkafka": "~2.4.1"}}',
            "a.js",
            ("librdkafka", (0, 11)),
        ),
        (
            "package.json",
            '{"dependencies": {"node-rdkafka": "^2.4.1"}}',
            "a.js",
            ("librdkafka", (2, 3)),
        ),
        ("go.mod", GO % "github.com/IBM/sarama v1.43.2", "a.go", ("sarama", (1, 43, 2))),
        ("go.mod", GO % "github.com/twmb/franz-go v1.16.1", "a.go", ("franz-go", (1, 16, 1))),
        (
            "go.mod",
            GO % "github.com/confluentinc/confluent-kafka-go/v2 v2.6.1",
            "a.go",
            ("librdkafka", (2, 6, 1)),
        ),
        (
            "go.mod",
            GO_REPLACED,
            "a.go",
            ("sarama", (1, 43, 2)),
        ),
        ("requirements.txt", "confluent-kafka==0.11.6\n", "a.py", ("librdkafka", (0, 11, 6))),
        (
            "poetry.lock",
            'name = "confluent-kafka"\nversion = "2.3.0"',
            "a.py",
            ("librdkafka", (2, 3, 0)),
        ),
    ],
)
def test_a_version_is_read_from_the_builds_of_node_and_go(
    repository: Path, name: str, text: str, source: str, found: tuple[str, tuple[int, ...]]
) -> None:
    """package.json, the locks beside it, go.mod with what it replaces; and librdkafka's in each."""
    write(repository / name, text)
    client, version = found
    build = version_near(str(repository / "src" / source), client)
    assert build is not None
    assert build.version == version


@pytest.mark.parametrize(
    ("name", "text", "client"),
    [
        ("package.json", NPM % "latest", "kafkajs"),
        ("package.json", NPM % "github:tulios/kafkajs", "kafkajs"),
        ("package.json", "[1]", "kafkajs"),
        ("package-lock.json", '{"packages": 1}', "kafkajs"),
        ("go.mod", GO % "// github.com/IBM/sarama v1.43.2", "sarama"),
        ("go.mod", GO % "github.com/other/sarama v1.43.2", "sarama"),
    ],
)
def test_control_a_version_that_is_not_named_is_not_found(
    repository: Path, name: str, text: str, client: str
) -> None:
    """A tag, a repository, a comment, a fork, and a file of another shape."""
    write(repository / name, text)
    assert version_near(str(repository / "a"), client) is None


def test_a_source_is_built_by_files_of_its_own_language(repository: Path) -> None:
    """One library, librdkafka, is inside three packages, and one repository may have them all."""
    write(repository / "requirements.txt", "confluent-kafka==2.3.0\n")
    write(repository / "go.mod", GO % "github.com/confluentinc/confluent-kafka-go v1.5.2")
    versions = [version_near(str(repository / name), "librdkafka") for name in ("a.py", "a.go")]
    assert [found and found.version for found in versions] == [(2, 3, 0), (1, 5, 2)]


def test_requirements_that_windows_wrote_are_read(repository: Path) -> None:
    """`pip freeze > requirements.txt` in PowerShell writes UTF-16."""
    repository.joinpath("requirements.txt").write_bytes("kafka-python==2.0.2\r\n".encode("utf-16"))
    found = version_near(str(repository / "a.py"), "kafka-python")
    assert found is not None
    assert found.version == (2, 0, 2)


def test_a_fork_without_a_version_is_known_to_be_old(repository: Path) -> None:
    """No release of it has idempotence, so it does not matter which one is installed."""
    write(repository / "requirements.txt", "kafka-python-ng\n")
    found = version_near(str(repository / "a.py"), "kafka-python")
    assert found is not None
    assert found.version == (2, 0, 2)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("debezium/connect:2.4", (3, 5)),
        ("quay.io/debezium/connect:1.4.2.Final", (2, 6)),
        ("confluentinc/cp-kafka-connect:6.1.1", (2, 7, 0)),
        ("confluentinc/cp-server-connect-datagen:0.6.4-7.6.0", (3, 6, 0)),
        ("confluentinc/cp-kafka-connect:7.5.3-1-ubi8", (3, 5, 0)),
        ("bitnami/kafka:3.4.0-debian-11", (3, 4, 0)),
        ("wurstmeister/kafka:2.12-2.3.0", (2, 3, 0)),
        ("quay.io/strimzi/kafka:0.31.1-kafka-3.2.0", (3, 2, 0)),
        ("debezium/connect:latest", None),
        ("mine/connect:2.4", None),
        ("debezium/connect", None),
    ],
)
def test_an_image_tells_the_version_of_kafka(image: str, version: tuple[int, ...] | None) -> None:
    """By the tags of those whose numbers are known; of others nothing is guessed."""
    assert kafka_in(image) == version


FLINK_POM = (
    "<project><dependencies><dependency><artifactId>flink-connector-kafka</artifactId>"
    "<version>3.2.0-1.19</version></dependency></dependencies></project>"
)


@pytest.mark.parametrize(
    ("build", "said"),
    [(FLINK_POM, ["client-not-judged"]), ("<project/>", ["producer-depends-on-version"])],
)
def test_nobody_calls_settings_idempotent_that_flink_may_read(
    repository: Path, monkeypatch: pytest.MonkeyPatch, build: str, said: list[str]
) -> None:
    """Flink's sink writes again after a restart; the control is the same file without Flink."""
    write(repository / "pom.xml", build)
    write(repository / "producer.properties", "bootstrap.servers=kafka:9092\nacks=all\n")
    monkeypatch.chdir(repository)
    shown = json.loads(CliRunner().invoke(app, ["--json", "."]).stdout)
    found = [each["id"] for each in shown["findings"]]
    found += [each["id"] for producer in shown["producers"] for each in producer["findings"]]
    assert found == said


def test_an_old_librdkafka_has_no_idempotence(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before 1.0 the name is refused, and acks of one replica are the default."""
    write(repository / "requirements.txt", "confluent-kafka==0.11.6\n")
    write(
        repository / "send.py",
        "from confluent_kafka import Producer\n"
        'plain = Producer({"bootstrap.servers": "kafka:9092"})\n'
        'asked = Producer({"enable.idempotence": True})\n',
    )
    monkeypatch.chdir(repository)
    shown = json.loads(CliRunner().invoke(app, ["--json", "."]).stdout)
    assert [each["verdict"] for each in shown["producers"]] == ["not_idempotent", "refused"]
    assert "producer-acks-lost" in [each["id"] for each in shown["producers"][0]["findings"]]


OLD_SPRING = "id 'org.springframework.boot' version '2.0.5.RELEASE'"
NEW_SPRING = "id 'org.springframework.boot' version '2.2.0.RELEASE'"


@pytest.mark.parametrize(
    ("build", "said"), [(OLD_SPRING, ["consumer-auto-commit"]), (NEW_SPRING, [])]
)
def test_springs_container_commits_itself_since_2_3(
    repository: Path, monkeypatch: pytest.MonkeyPatch, build: str, said: list[str]
) -> None:
    """Before that, Kafka's own default was left alone, and the clock committed."""
    write(repository / "build.gradle", build)
    write(
        repository / "Config.java",
        'class C { Object a = new DefaultKafkaConsumerFactory<>(Map.of("group.id", "a", '
        '"auto.offset.reset", "earliest")); }',
    )
    monkeypatch.chdir(repository)
    shown = json.loads(CliRunner().invoke(app, ["--json", "."]).stdout)
    assert [each["id"] for each in shown["findings"]] == said
