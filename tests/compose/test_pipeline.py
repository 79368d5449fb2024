"""The pipeline on containers: ready means ready, killed parts come back, nothing is lost."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import psycopg
import pytest
import requests
from confluent_kafka import OFFSET_END, TopicPartition
from confluent_kafka.admin import AdminClient

from contract.names import INPUT_TOPIC, SUBSCRIBER
from tests.client import committed, until, until_handled
from tests.compose.project import ROOT, Project, ask
from tests.reconciliation import GOOD

ONE_SHOTS = ("preflight", "secrets", "migrations", "topics", "connector")
ORDERS = 3_000
RATE = 200  # a second: 15 s of load, in which a part dies and comes back


def test_up_returns_when_everything_is_ready(project: Project) -> None:
    """When `up --wait` returns, every one-shot has ended well, every other container is healthy."""
    states = {name: one["State"] for name, one in project.containers().items()}
    ended = {name: states.pop(f"{name}-1")["ExitCode"] for name in ONE_SHOTS}
    assert set(ended.values()) == {0}, ended
    health = {name: state["Health"]["Status"] for name, state in states.items()}
    assert set(health.values()) == {"healthy"}, health
    assert len(health) == 8
    address = project.good("port", "service", "8080").strip()
    assert requests.get(f"http://{address}/readyz", timeout=10).text == "ok\n"


def test_the_page_is_there(project: Project) -> None:
    """On this machine's port of it, by its name here alone; its token is in a file of the page."""
    address = project.good("port", "page", "8088").strip()
    shown = requests.get(f"http://{address}/", timeout=10)
    assert "The path, now" in shown.text
    renamed = requests.get(f"http://{address}/", headers={"Host": "evil.example"}, timeout=10)
    assert renamed.status_code == 421
    token = project.good("exec", "-T", "page", "cat", "/run/secrets/page_token")
    assert len(token) == 32
    with requests.Session() as session:
        typed = {"token": token}
        own = {"Origin": f"http://{address}"}
        answer = session.post(f"http://{address}/sign-in", typed, headers=own, timeout=10)
        assert "Sign out" in answer.text
        assert token not in answer.text


def test_the_demo_prints_its_table_and_its_verdict(project: Project) -> None:
    """`docker compose run --rm demo` ends as the docs say: every hop, the verdict, exit code 0."""
    done = project.run("run", "--rm", "-T", "demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == GOOD
    assert hops(done.stdout) == hops((ROOT / "docs" / "operate.md").read_text())


def hops(text: str) -> list[str]:
    """Return the hops of a table, in its sequence."""
    return re.findall(r"^(\S.* → .*?) {2,}\d", text, re.MULTILINE)


@contextmanager
def load(project: Project) -> Iterator[None]:
    """Keep sending orders while the block does its harm; all of them must be acknowledged."""
    command = project.command("run", "--rm", "-T", "--no-deps", "demo", "produce")
    command += ["--orders", str(ORDERS), "--rate", str(RATE), "--json"]
    before = handled()
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as producer:
        try:
            until(handled, lambda now: now > before, 60, "no order of the load was handled")
            assert producer.poll() is None, "the load was over too soon"
            yield
        finally:
            output, errors = producer.communicate(timeout=120)
    assert producer.returncode == 0, errors
    assert sum(json.loads(output)["records"].values()) >= ORDERS


def handled() -> int:
    """Return how many records the service has committed."""
    return sum(committed().values())


@pytest.mark.parametrize("part", ["service", "connect", "postgres", "audit"])
def test_a_part_killed_under_load_comes_back(project: Project, part: str) -> None:
    """Killed (-9) under load and started again by `up --wait`: every record is handled."""
    with load(project):
        project.good("kill", "--signal", "SIGKILL", part)
        assert project.containers()[f"{part}-1"]["State"]["ExitCode"] == 137
        project.good("up", "--wait")
    until_handled()


def test_after_the_kills_nothing_is_lost_or_doubled(project: Project) -> None:
    """Id by id, with everything that every producer saw acknowledged."""
    done = project.run("run", "--rm", "-T", "reconcile", "--json", "--ledger", "/data/ledger")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert (result["verdict"], result["findings"]) == (GOOD, [])
    acknowledged = result["hops"][0]["in"]  # the ledger's hop is the first
    assert acknowledged > ORDERS


def test_no_event_of_the_outbox_is_missing_on_its_topic(project: Project) -> None:
    """`outbox resend` reads both outboxes and their topics, and has nothing to send again."""
    words = ("outbox", "resend", "--missing", "--since", "1h", "--json")
    done = project.run("run", "--rm", "-T", "demo", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert [each["sent"] for each in found] == [0, 0]
    assert all(each["found"] >= ORDERS for each in found)


def test_dead_letters_are_counted_and_shown(project: Project) -> None:
    """Those of the demo, by the same commands as on the embedded stack."""
    words = ("run", "--rm", "-T", "demo", "dead-letters")
    counted = json.loads(project.run(*words, "list", "--json").stdout)
    assert counted["letters"] > 0
    position = counted["reasons"][0]["latest"]
    shown = project.run(*words, "show", position)
    assert shown.stdout.startswith(f"{position}, buried "), shown


def test_three_services_share_the_partitions(project: Project) -> None:
    """`up --scale service=3`: three healthy containers, a partition and a port each."""
    project.good("up", "--wait", "--scale", "service=3")
    containers = project.containers()
    services = [one for name, one in containers.items() if name.startswith("service-")]
    healths = [one["State"]["Health"]["Status"] for one in services]
    assert healths == ["healthy"] * 3
    ports = {json.dumps(one["NetworkSettings"]["Ports"]) for one in services}
    assert len(ports) == 3
    until(partitions, lambda shares: shares == [1, 1, 1], 60, "the partitions are not shared")
    project.good("up", "--wait", "--scale", "service=1")


def partitions() -> list[int]:
    """Return how many partitions each member of the group has."""
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    answers = admin.describe_consumer_groups([SUBSCRIBER])
    group: Any = answers[SUBSCRIBER].result(timeout=10)
    return sorted(len(member.assignment.topic_partitions) for member in group.members)


def test_no_secret_is_shown(project: Project) -> None:
    """No password is in the configuration, in `docker inspect` or in a log."""
    shown = project.good(
        "run", "--rm", "-T", "--no-deps", "migrations", "sh", "-c", "cat /run/secrets/*_password"
    )
    secrets = [shown[at : at + 32] for at in range(0, len(shown), 32)]
    assert len(set(secrets)) == 8
    shown_elsewhere = project.good("config")
    shown_elsewhere += json.dumps(project.containers())
    shown_elsewhere += project.good("logs", "--no-color")
    assert [at for at, secret in enumerate(secrets) if secret in shown_elsewhere] == []


@pytest.mark.parametrize(
    ("part", "own", "other"),
    [
        ("service", "app", "audit"),
        ("audit", "audit", "app"),
        ("connect", "cdc", "postgres"),
        ("postgres", "postgres", "cdc"),
        ("guard", "reconciler", "app"),
        ("page", "resender", "app"),
    ],
)
def test_a_container_reads_its_own_password_alone(
    project: Project, part: str, own: str, other: str
) -> None:
    """Each part can read the password of the role that it logs in as, and that of no other."""
    codes = {}
    for role in (own, other):
        file = f"/run/secrets/{role}_password"
        codes[role] = project.run("exec", "-T", part, "test", "-r", file).returncode
    assert codes == {own: 0, other: 1}


def test_no_container_runs_as_root(project: Project) -> None:
    """Nor with a capability, nor with a root file system that it could change."""
    for name, one in project.containers().items():
        assert one["Config"]["User"] not in ("", "0", "root"), name
        assert one["HostConfig"]["ReadonlyRootfs"], name
        assert one["HostConfig"]["CapDrop"] == ["ALL"], name
    for name in ("postgres", "kafka", "connect", "audit", "service", "land"):
        status = project.good("exec", "-T", name, "cat", "/proc/1/status")
        found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert "0" not in found["Uid"].split(), name
        assert found["CapEff"].strip("0") == "", name


def test_what_is_published_is_for_this_machine_only(project: Project) -> None:
    """Every port that Docker has opened is on 127.0.0.1."""
    addresses = set()
    for one in project.containers().values():
        for bindings in one["NetworkSettings"]["Ports"].values():
            addresses |= {binding["HostIp"] for binding in bindings or []}
    assert addresses == {"127.0.0.1"}


def test_control_a_lost_row_is_the_exit_code(project: Project) -> None:
    """A row taken from the audit's database is found: the verdict says it, and the code is 1."""
    remove = "delete from audit_entry where ctid = (select min(ctid) from audit_entry)"
    password = "PGPASSWORD=$(cat /run/secrets/postgres_password)"
    psql = f'{password} psql -h 127.0.0.1 -U postgres audit -c "{remove}"'
    assert project.good("exec", "-T", "postgres", "sh", "-c", psql) == "DELETE 1\n"
    done = project.run("run", "--rm", "-T", "reconcile")
    assert done.returncode == 1, done.stderr
    assert "1 missing" in done.stdout.splitlines()[-1]


def test_repair_brings_the_row_back(project: Project) -> None:
    """`repair` says what it would do, does it with --apply, and the next run finds nothing."""
    plan = project.run("run", "--rm", "-T", "repair", "--json")
    [act] = json.loads(plan.stdout)["acts"]
    assert (plan.returncode, act["outcome"], act["state"]) == (1, "missing", "proposed")
    project.good("run", "--rm", "-T", "repair", "--apply", "--by", "tests")
    project.good("run", "--rm", "-T", "reconcile")


def test_refused_audit_entries_are_counted_and_sent_again(project: Project) -> None:
    """What `audit retry` counts it sends with --yes, and then none is left."""
    mark = """
        update tracking
        set audited_at = null, audit_error = '422 (planted)'
        where message_id in (select payload->>'message_id' from outbox limit 3)
    """
    password = project.good("exec", "-T", "postgres", "cat", "/run/secrets/postgres_password")
    address = f"host=127.0.0.1 port={os.environ['POSTGRES_PORT']} dbname=fulfillment"
    with psycopg.connect(address, user="postgres", password=password.strip()) as connection:
        assert connection.execute(mark).rowcount == 3
        # Their bodies are made again as they are for entries of an earlier version.
        revision = import_module("migrations.fulfillment.0008_audit_failures")
        assert connection.execute(revision.REFUSED_BEFORE).rowcount == 3
    retry = ("run", "--rm", "-T", "demo", "audit", "retry", "--json")
    counted = project.run(*retry)
    [reason] = json.loads(counted.stdout)
    assert (counted.returncode, reason["entries"], reason["reason"]) == (1, 3, "422 (planted)")
    assert json.loads(project.good(*retry, "--yes")) == {"taken": 3, "refused": 0}
    assert json.loads(project.good(*retry)) == []


def test_landing_goes_on_after_a_loss_that_somebody_accepts(project: Project) -> None:
    """It stops, names what Kafka deleted, takes exactly that, and the report goes on naming it."""
    project.good("stop", "land")
    produce = ("demo", "produce", "--orders", "60")
    project.good("run", "--rm", "-T", "--no-deps", *produce)
    until_handled()
    delete_all_records(INPUT_TOPIC)
    land = ("run", "--rm", "-T", "--no-deps", "land", "python", "-m", "spark.land")
    stopped = project.run(*land)
    assert stopped.returncode == 2, stopped.stderr
    options = re.findall(r"--accept-loss \S+", stopped.stderr)
    assert len(options) == 3, stopped.stderr
    project.good(*land, "--once", *" ".join(options).split())
    project.good("up", "--wait", "land")
    report = project.good("run", "--rm", "-T", "reconcile")
    assert report.count("accepted loss: ") == 3, report


def delete_all_records(topic: str) -> None:
    """Let Kafka forget everything that a topic holds, as its retention does one day."""
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    numbers = admin.list_topics(topic, timeout=10).topics[topic].partitions
    ends = [TopicPartition(topic, number, OFFSET_END) for number in numbers]
    for deleted in admin.delete_records(ends).values():
        deleted.result(timeout=10)


def test_down_leaves_nothing(project: Project) -> None:
    """After `down -v` no container, no volume and no network of the project is left."""
    used = set()  # volumes without a name of ours, too
    for one in project.containers().values():
        used |= {mount["Name"] for mount in one["Mounts"] if mount["Type"] == "volume"}
    assert len(used) >= 4
    project.end()
    assert project.left() == {"containers": [], "volumes": [], "networks": []}
    assert used & set(ask("docker", "volume", "ls", "--quiet").split()) == set()
