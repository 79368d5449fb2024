"""Landing from a broker that encrypts and asks for a password."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from deltalake import DeltaTable, QueryBuilder

from access.kafka import kafka_connection
from contract.names import INPUT_TOPIC
from ops.jars import jars_folder
from ops.settings import ROOT
from tests.secured_broker import (
    SOON,
    SecuredBroker,
    as_environment,
    let_everybody_in,
    secured_broker,
)

RECORDS = 7
JARS = ROOT / ".run" / "jars"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """A broker with every topic and every principal, and some records."""
    with secured_broker(tmp_path_factory.mktemp("kafka"), JARS) as broker:
        let_everybody_in(broker)
        access = broker.access("producer")
        producer = Producer(kafka_connection(broker.bootstrap_servers, access))
        for number in range(RECORDS):
            producer.produce(INPUT_TOPIC, str(number), "key")
        assert producer.flush(SOON) == 0
        yield broker


def land(broker: SecuredBroker, folder: Path, user: str) -> "subprocess.CompletedProcess[str]":
    """Land once as this user."""
    own = {
        "DELTA_ROOT": str(folder),
        "SPARK_JARS_DIR": str(jars_folder(JARS, ROOT / "spark" / "pom.xml")),
        **as_environment(broker, broker.access(user)),
    }
    return subprocess.run(
        [sys.executable, "-m", "spark.land", "--once"],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def rows_of(path: Path) -> int:
    """Return how many rows a table has."""
    query = QueryBuilder().register("landed", DeltaTable(path))
    [count] = query.execute("select count(*) as rows from landed").read_all()["rows"].to_pylist()
    return int(count)


def test_landing_logs_in_and_leaves_its_password_nowhere(
    broker: SecuredBroker, tmp_path: Path
) -> None:
    """Every record lands; the password is in no line that was printed, and in no file of the lake.

    The control: the name of the topic is found by the same search.
    """
    done = land(broker, tmp_path, "land")
    assert done.returncode == 0, done.stderr
    assert rows_of(tmp_path / "landed" / INPUT_TOPIC) == RECORDS
    secret = broker.password_file("land").read_text()
    assert secret == "land-secret"
    assert secret not in done.stdout + done.stderr
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not [file for file in files if secret.encode() in file.read_bytes()]
    assert [file for file in files if INPUT_TOPIC.encode() in file.read_bytes()]


def test_who_may_not_read_a_topic_lands_nothing(broker: SecuredBroker, tmp_path: Path) -> None:
    """Another principal is refused with a sentence, and no table has a row."""
    done = land(broker, tmp_path, "producer")
    assert done.returncode == 2, done.stderr
    assert "or producer may not see it (python -m connect acls)" in done.stderr.splitlines()[-1]
    assert not list(tmp_path.glob("landed/*/*.parquet"))
