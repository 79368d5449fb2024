"""`--fix`: what is written, what is left, and that a file is changed whole or not at all."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from pipeline_check.command import app

HASTY = "# of the shop\nbootstrap.servers = kafka:9092\nacks = 1\nretries : 0\n"
WORKER = (
    "group.id=connect\nconfig.storage.topic=c\noffset.storage.topic=o\nstatus.storage.topic=s\n"
)


def fix(*paths: Path) -> Result:
    """Run it with --fix."""
    return CliRunner().invoke(app, ["--fix", *map(str, paths)])


def test_a_properties_file_is_mended_and_nothing_else_in_it_changes(tmp_path: Path) -> None:
    """Values are replaced where they stand, and what is new comes behind them."""
    file = tmp_path / "producer.properties"
    file.write_text(HASTY)
    done = fix(file)
    assert file.read_text() == (
        "# of the shop\nbootstrap.servers = kafka:9092\nacks = all\nretries : 2147483647\n"
        "enable.idempotence=true\n"
    )
    assert f"{file}: enable.idempotence=true" in done.stderr
    assert done.exit_code == 0
    assert fix(file).stderr == ""


def test_a_connector_in_json_stays_json(tmp_path: Path) -> None:
    """The override goes into its object, and a comma is where one is needed."""
    file = tmp_path / "orders.json"
    config = {
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "topic.prefix": "orders",
        "producer.override.acks": "1",
    }
    file.write_text(json.dumps({"name": "orders", "config": config}, indent=2))
    tmp_path.joinpath("worker.properties").write_text(f"{WORKER}producer.enable.idempotence=true\n")
    fix(tmp_path)
    assert json.loads(file.read_text())["config"]["producer.override.acks"] == "all"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("producer.properties", "bootstrap.servers=kafka:9092\nacks=\\\n  1\n"),
        (
            "orders.json",
            '{"name": "o", "config": {"connector.class": "x", "producer.override.acks": "1"}}',
        ),
        (
            "application.yml",
            "base: &base\n  acks: 1\nspring:\n  kafka:\n    producer: *base\n",
        ),
        ("application.yml", "spring: {kafka: {producer: {acks: 1}}}\n"),
        ("application.yml", "spring:\n  kafka:\n    producer:\n      acks:\n        1\n"),
        ("send.py", 'from confluent_kafka import Producer\np = Producer({"acks": "1"})\n'),
    ],
)
def test_what_has_no_safe_place_is_left_alone(tmp_path: Path, name: str, text: str) -> None:
    """A value on two lines, members on one line, what others share: shown, and not written."""
    file = tmp_path / name
    file.write_text(text)
    done = fix(file)
    assert file.read_text() == text
    assert "fix: " in done.stdout
    assert done.exit_code == 1


SPRING = """# of the shop
spring:
  kafka:
    producer:
      acks: "1"  # quick
      # and not often
      retries: 2

server.port: 8080
"""
SPRING_MENDED = """# of the shop
spring:
  kafka:
    producer:
      acks: "all"  # quick
      # and not often
      retries: 2147483647
      properties.enable.idempotence: "true"

server.port: 8080
"""
COMPOSE = """services:
  connect:
    image: confluentinc/cp-kafka-connect:7.9.0
    environment:
      - CONNECT_BOOTSTRAP_SERVERS=kafka:9092
      - CONNECT_GROUP_ID=connect  # ours
      - CONNECT_CONFIG_STORAGE_TOPIC=c
      - CONNECT_OFFSET_STORAGE_TOPIC=o
      - CONNECT_STATUS_STORAGE_TOPIC=s
      - CONNECT_CONNECTOR_CLIENT_CONFIG_OVERRIDE_POLICY=None
    ports: ["8083:8083"]
"""


def test_a_spring_application_keeps_its_comments_and_its_layout(tmp_path: Path) -> None:
    """Values are replaced in their quotes, and what is new comes behind the last of its mapping."""
    file = tmp_path / "application.yml"
    file.write_text(SPRING)
    fix(file)
    assert file.read_text() == SPRING_MENDED
    assert fix(file).stderr == ""


def test_a_worker_of_compose_gets_its_variables(tmp_path: Path) -> None:
    """They come behind the last of the list, as members of it."""
    file = tmp_path / "compose.yml"
    file.write_text(COMPOSE)
    fix(file)
    last = "OVERRIDE_POLICY=None\n"
    new = "      - CONNECT_PRODUCER_{}\n"
    assert file.read_text() in {
        COMPOSE.replace(last, last + new.format(first) + new.format(second))
        for first, second in (
            ("ENABLE_IDEMPOTENCE=true", "ACKS=all"),
            ("ACKS=all", "ENABLE_IDEMPOTENCE=true"),
        )
    }


def test_a_file_is_changed_whole_or_not_at_all(tmp_path: Path) -> None:
    """One edit without a safe place keeps the others back, too."""
    file = tmp_path / "producer.properties"
    text = "bootstrap.servers=kafka:9092\nacks=1\nretries=\\\n  0\n"
    file.write_text(text)
    fix(file)
    assert file.read_text() == text


def test_line_ends_and_permissions_stay(tmp_path: Path) -> None:
    """A file from another system keeps its own line ends."""
    file = tmp_path / "producer.properties"
    file.write_bytes(b"bootstrap.servers=kafka:9092\r\nacks=1\r\nlinger.ms=5")
    file.chmod(0o640)
    fix(file)
    lines = file.read_bytes().split(b"\r\n")
    assert b"acks=all" in lines
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_program_gets_the_edits(tmp_path: Path) -> None:
    """Each with file, line, key and value; line 0 is a setting that is not there yet."""
    file = tmp_path / "producer.properties"
    file.write_text(HASTY)
    said = json.loads(CliRunner().invoke(app, ["--json", str(file)]).stdout)
    edits = said["producers"][0]["findings"][0]["edits"]
    assert {"file": str(file), "line": 3, "after": 4, "key": "acks", "value": "all"} in edits
    assert [each["line"] for each in edits if each["key"] == "enable.idempotence"] == [0]
