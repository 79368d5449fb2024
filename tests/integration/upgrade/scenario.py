"""Bring what version 0.1 wrote into a stack of this version, upgrade, go on, and reconcile.

It runs as a process of its own, so that it also runs in a copy of this repository without extras.
It prints one JSON object: what was found.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
from base64 import b64decode
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from contract.names import AUDIT_DATABASE, DATABASE
from migrations.server import MAY_ENTER, make_database, make_roles
from ops.orders import make_records
from ops.produce import produce
from ops.settings import ROOT, Settings
from ops.stack.stack import Stack
from tests.client import query, until_handled

FROZEN = Path(__file__).parent
NEW_ORDERS = 30


def main() -> None:
    """Upgrade, handle more orders, reconcile, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run_dir", type=Path)
    parser.add_argument("jars_dir", type=Path)
    parser.add_argument("ports", type=int)
    asked = parser.parse_args()
    stack = Stack(make_settings(asked.run_dir, asked.jars_dir, asked.ports))
    stack.claim()
    stack.remove_data()
    try:
        bring_back(stack)
        stack.run("migrations", [sys.executable, "-m", "migrations", "upgrade"])
        stack.up()
        os.environ.update(stack.settings.environment())
        before = count_tracked()
        produce(stack.env(), "new", make_records(2, "new", NEW_ORDERS))
        until_handled()
        found = reconcile(stack)
    finally:
        stack.down()
        stack.remove_data()
    found |= {"root": str(ROOT), "tracked_before": before}
    sys.stdout.write(json.dumps(found) + "\n")


def make_settings(run_dir: Path, jars_dir: Path, ports: int) -> Settings:
    """Return a stack in a folder and on ports of its own."""
    return Settings(
        run_dir=run_dir,
        jars_dir=jars_dir,
        postgres_port=ports + 32,
        kafka_port=ports + 92,
        kafka_controller_port=ports + 93,
        connect_port=ports + 83,
        audit_port=ports + 81,
        service_port=ports + 10,
    )


def bring_back(stack: Stack) -> None:
    """Put everything where version 0.1 had it: rows, records, committed offsets, the lake."""
    stack.prepare(list(stack.parts.values()))
    stack.start("postgres")
    load_databases(stack.settings)
    stack.start("kafka")
    stack.run("topics", [sys.executable, "-m", "connect", "topics"])
    frozen = json.loads((FROZEN / "topics.json").read_text())
    bootstrap = stack.env()["KAFKA_BOOTSTRAP_SERVERS"]
    send_records(bootstrap, frozen["records"])
    commit_offsets(bootstrap, frozen["committed"])
    with tarfile.open(FROZEN / "lake.tar.gz") as lake:
        lake.extractall(stack.settings.run_dir, filter="data")


def load_databases(settings: Settings) -> None:
    """Load both databases as pg_dump wrote them, at revision 0002."""
    with admin(settings, "postgres") as connection:
        make_roles(connection, settings.secrets_dir)
        for name in (DATABASE, AUDIT_DATABASE):
            make_database(connection, name, MAY_ENTER[name])
    for name in (DATABASE, AUDIT_DATABASE):
        lines = (FROZEN / f"{name}.sql").read_text().splitlines()
        statements = [line for line in lines if not line.startswith("\\")]  # psql's own commands
        with admin(settings, name) as connection:
            connection.execute("\n".join(statements).encode())


def admin(settings: Settings, database: str) -> psycopg.Connection:
    """Return the administrator's connection to a database."""
    environment = settings.environment()
    password = Path(environment["ADMIN_DATABASE_PASSWORD_FILE"]).read_text().strip()
    url = environment["ADMIN_DATABASE_URL"]
    return psycopg.connect(url, dbname=database, password=password, autocommit=True)


def send_records(bootstrap: str, records: list[dict[str, Any]]) -> None:
    """Send every record to the partition that it had; each must get the offset that it had."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    wrong = []

    def compare(offset: int, error: object, message: Message) -> None:
        if error or message.offset() != offset:
            wrong.append((message.topic(), message.partition(), offset, error or message.offset()))

    there = set(producer.list_topics(timeout=10).topics)
    for record in records:
        if record["topic"] not in there:
            continue  # of an extra that is not here
        producer.produce(
            record["topic"],
            decode(record["value"]),
            decode(record["key"]),
            partition=record["partition"],
            timestamp=record["timestamp"],
            headers=[(name, decode(value)) for name, value in record["headers"]],
            on_delivery=partial(compare, record["offset"]),
        )
    assert producer.flush(30) == 0
    assert wrong == []


def decode(text: str | None) -> bytes | None:
    """Return the bytes of this base64."""
    return None if text is None else b64decode(text)


def commit_offsets(bootstrap: str, committed: dict[str, dict[str, dict[str, int]]]) -> None:
    """Let each group go on where version 0.1 had committed."""
    for group, topics in committed.items():
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
        there = set(consumer.list_topics(timeout=10).topics)
        for topic, offsets in topics.items():
            if topic in there:
                places = [TopicPartition(topic, int(n), offset) for n, offset in offsets.items()]
                consumer.commit(offsets=places, asynchronous=False)
        consumer.close()


def count_tracked() -> int:
    """Return how many messages the tracking table holds."""
    return int(query("select count(*) from tracking where subscriber = %s", DATABASE)[0][0])


def reconcile(stack: Stack) -> dict[str, Any]:
    """Land what is new on top of the lake, and compare every id of both versions."""
    command = [sys.executable, "-m", "spark.reconcile", "--land", "--json"]
    done = subprocess.run(
        command, cwd=ROOT, env=stack.env(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode in (0, 1), done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
