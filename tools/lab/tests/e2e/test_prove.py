"""The proof: three clients that lose 200 acknowledgements, and what the bytes of a topic say."""

import json
import os
import subprocess
import sys
from pathlib import Path
from signal import SIG_IGN, SIGINT, SIGTERM, getsignal
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lab.environment import proxied_stack
from lab.kafka_proxy import EVERY
from lab.prove.cluster import is_compacted, look
from lab.prove.command import CLIENTS, prove, run
from lab.prove.job import Job
from lab.prove.producer_settings import control_settings, read_settings
from lab.prove.verdict import judge
from ops.settings import HOST, ROOT, Settings
from ops.stack.stack import Stack, silently
from ops.stack.state import read_state
from tests.client import fresh, until

RUN = ROOT / ".run" / "test-prove"
PROCESSES = RUN / "prove" / "processes.json"


@pytest.fixture(autouse=True)
def _place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder beside those of the other stacks, and their jars."""
    monkeypatch.setenv("RUN_DIR", str(RUN))
    monkeypatch.setenv("JARS_DIR", ".run/jars")


def proved(
    capsys: pytest.CaptureFixture[str], client: str, messages: int, lost: int, *files: Path
) -> tuple[int, Any]:
    """Return the exit code, and what was printed for programs."""
    code = prove(client, messages, lost, files, as_json=True)
    return code, json.loads(capsys.readouterr().out)


# Connect is slow to start; it is tried by `make prove`.
TRIED = ["python", "java", "connect"] if os.environ.get("PROVE") else ["python", "java"]


@pytest.mark.parametrize("client", TRIED)
def test_a_client_that_loses_acknowledgements_doubles_nothing(
    capsys: pytest.CaptureFixture[str], client: str
) -> None:
    """Of 20,000 messages each is there once with idempotence; without it some are there twice."""
    code, found = proved(capsys, client, 20_000, 200)
    arm = found["settings"]
    control = found["control"]
    assert code == 0, found["verdict"]
    assert arm["total"]["records"] == arm["total"]["distinct"] == 20_000
    assert arm["total"]["batches"] > 0
    assert not any(
        arm["total"][name]
        for name in ("duplicated", "reordered", "missing", "without_producer_id", "gaps")
    )
    assert arm["lost"] == 200
    assert arm["requests"] >= EVERY * 200
    assert control["total"]["duplicated"] >= 1
    assert control["total"]["distinct"] == 20_000
    assert control["total"]["without_producer_id"] == control["total"]["batches"] > 0


@pytest.mark.parametrize("client", ["python", pytest.param("java", marks=pytest.mark.prove)])
def test_a_transactional_producer_is_proved_as_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, client: str
) -> None:
    """What it aborts is read by nobody, and what it commits is there once.

    The control has no transactions: what was to be aborted can be read, and records are doubled.
    """
    file = tmp_path / "producer.properties"
    file.write_text("bootstrap.servers=x\ntransactional.id=orders\n")
    code, found = proved(capsys, client, 2_000, 20, file)
    arm, control = found["settings"]["total"], found["control"]["total"]
    assert code == 0, found["verdict"]
    assert found["verdict"].startswith("transactional")
    assert arm["records"] == 2_000
    assert arm["distinct"] == 2_000
    assert arm["taken_back"] == 0
    assert control["taken_back"] > 0
    assert control["duplicated"] > 0


def test_settings_that_are_not_idempotent_are_refuted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Java with acks=1 and nothing else: idempotence is off silently, and the topic shows it."""
    file = tmp_path / "producer.properties"
    file.write_text("acks=1\n")
    code, found = proved(capsys, "java", 2_000, 20, file)
    assert code == 1
    assert found["verdict"].startswith("NOT idempotent")
    assert found["settings"]["total"]["duplicated"] >= 1
    assert (
        found["settings"]["total"]["without_producer_id"] == found["settings"]["total"]["batches"]
    )


def test_a_proof_in_which_nothing_was_lost_says_that_it_proved_nothing() -> None:
    """Behind a proxy that loses nothing the control is as clean as the rest: that is no proof."""
    python = CLIENTS["python"]
    settings = read_settings("python", python.files)
    with proxied_stack(Settings(), silently, "prove", python.parts) as (stack, proxy):
        both = (settings, control_settings(settings))
        arms = []
        for own, topic in zip(both, python.topics, strict=True):
            job = Job(f"{HOST}:{proxy.port}", own, topic, 500, 10)
            arms.append(run(stack, proxy, python.send, job, lost_acks=0))
    code, verdict = judge(arms[0], arms[1], lost_acks=0)
    assert code == 2
    assert verdict.startswith("proved nothing:")
    assert arms[1].requests >= 50


def test_a_proof_that_is_interrupted_leaves_nothing_behind() -> None:
    """Ctrl-C while acknowledgements are being lost: no process, no data, and no verdict."""
    pipeline = str(Path(sys.executable).with_name("pipeline"))
    command = [pipeline, "prove", "java", "--messages", "200000", "--lost-acks", "2000"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as proof:
        until(
            lambda: set(read_state(PROCESSES).processes),
            lambda names: {"kafka", "java"} <= names or proof.poll() is not None,
            60,
            "broker and producer do not run",
        )
        started = read_state(PROCESSES).processes
        # A suite in the background of a shell ignores Ctrl-C; SIGTERM does the same.
        proof.send_signal(SIGTERM if getsignal(SIGINT) == SIG_IGN else SIGINT)
        printed, _ = proof.communicate(timeout=60)
    assert set(started) == {"kafka", "java"}
    assert not [name for name, identity in started.items() if identity.group()]
    assert not read_state(PROCESSES).processes
    assert not (RUN / "prove" / "data").exists()
    assert printed == b""
    assert proof.returncode not in (0, 1), "a verdict was given"


def write(servers: str, topic: str, settings: dict[str, Any], count: int = 50) -> None:
    """Write this many records by one producer; in a transaction, if it has an id for one."""
    producer = Producer(
        settings | {"bootstrap.servers": servers, "linger.ms": 0, "batch.num.messages": 5}
    )
    if "transactional.id" in settings:
        producer.init_transactions(30)
        producer.begin_transaction()
    for number in range(count):
        producer.produce(topic, b"%d" % number)
    if "transactional.id" in settings:
        producer.commit_transaction(30)
    assert producer.flush(30) == 0


def test_the_bytes_of_a_topic_show_who_writes_without_idempotence(
    stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    """Idempotent and transactional batches pass, compressed ones too; a plain producer is found."""
    topic = fresh("prove")
    servers = stack.env()["KAFKA_BOOTSTRAP_SERVERS"]
    wanted = NewTopic(topic, 3, 1, config={"compression.type": "zstd"})
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([wanted])[topic].result(30)

    def looked() -> tuple[int, Any]:
        code = look(servers, topic, 1_000, as_json=True)
        return code, json.loads(capsys.readouterr().out)

    assert is_compacted(servers, "connect-configs")
    assert not is_compacted(servers, topic)
    assert looked() == (
        2,
        {"topic": topic, "verdict": f"nothing to look at: {topic} is empty", "writers": []},
    )
    write(servers, topic, {"enable.idempotence": True, "compression.type": "zstd"})
    write(servers, topic, {"transactional.id": topic})
    code, found = looked()
    assert code == 0, found["verdict"]
    assert sum(writer["records"] for writer in found["writers"]) == 100
    assert len({writer["producer_id"] for writer in found["writers"]}) == 2
    write(servers, topic, {}, 7)
    code, found = looked()
    nobody = [writer for writer in found["writers"] if writer["producer_id"] == -1]
    assert code == 1
    assert sum(writer["records"] for writer in nobody) == 7
    assert "NOT idempotent" in found["verdict"]
