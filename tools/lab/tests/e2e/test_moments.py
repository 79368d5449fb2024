"""Debezium's dangerous moments: each is found within a minute, and has a way back that is tried.

The way back is a block of docs/recover.md, pasted into a shell. Then reconciliation judges
everything that the stack ever handled. They run with PROVE=1 (make prove-debezium).
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
import requests
from confluent_kafka.admin import AdminClient

from access.embedded import as_somebody, tool
from lab.faults.clock import Clock, build_library
from ops.jars import jars_folder
from ops.settings import HOST, ROOT
from ops.stack.kafka import POM, java
from ops.stack.stack import Stack
from ops.topic import read
from tests.client import away, connect, ends, events, fresh, query, until, until_handled
from tests.load import load, orders
from tests.reconciliation import Reconcile, all_matched
from tests.stacks import PORTS, running, within

pytestmark = pytest.mark.prove

PAGE = (ROOT / "docs" / "recover.md").read_text()
MINUTE = 60.0
CONNECTOR = "fulfillment-outbox"
SLOT = "fulfillment_outbox"
TOPIC = "fulfillment.events"
HOURS = 5  # by which a clock is wrong
FIRST_PORT = PORTS + 200
STANDBY_PORT = FIRST_PORT + 40
SECOND_WORKER_PORT = FIRST_PORT + 84


@pytest.fixture(scope="module")
def own_stack() -> Iterator[Stack]:
    """A stack for what neither of the shared ones would survive."""
    with running("test-moments", FIRST_PORT) as stack:
        yield stack


@pytest.fixture
def own(own_stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The same, with its addresses in the environment, and what the page uses on the PATH."""
    jars = jars_folder(own_stack.settings.jars, POM) / "worker"
    groups = tmp_path / "kafka-consumer-groups.sh"
    main = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    groups.write_text(f'#!/bin/sh\nexec java -XX:TieredStopAtLevel=1 -cp "{jars}/*" {main} "$@"\n')
    groups.chmod(0o755)
    places = [tmp_path, Path(sys.executable).parent, Path(tool("psql")).parent]
    path = ":".join(map(str, places))
    monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")
    monkeypatch.setenv("ATTACH", "true")
    return within(own_stack, monkeypatch)


def rules_found() -> set[str]:
    """Return the rules of which `pipeline check --live` has a finding, as Prometheus reads them."""
    words = ["check", "--live", "--prometheus", "connect", "migrations"]
    done = subprocess.run(
        ["pipeline", *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode in {0, 1, 2}, done.stderr
    severe = r'pipeline_check_findings\{rule="([\w-]+)",.*severity="(?:error|warning)"\} \d+'
    return set(re.findall(severe, done.stdout))


def until_found(rule: str) -> None:
    """Wait until this rule has a finding: a minute, which is how often somebody should look."""
    until(rules_found, lambda found: rule in found, MINUTE, f"{rule} was not found")


def until_well() -> None:
    """Wait until nothing is found any more."""
    until(rules_found, lambda found: not found, MINUTE, "something is still found")


def way_back(heading: str, **values: str) -> None:
    """Run the commands below a heading of docs/recover.md, with these values in their variables."""
    section = PAGE.partition(f"### {heading}\n")[2]
    block = re.search(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert block, heading
    script = block[1]
    for name, value in values.items():
        script, count = re.subn(rf"^{name}=\S+", f"{name}={value}", script, flags=re.MULTILINE)
        assert count == 1, name
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def administer(*statements: str, database: str = "fulfillment") -> None:
    """Do what only an administrator may."""
    with connect(database, "postgres") as admin:
        for statement in statements:
            admin.execute(statement.encode())


def ask_connect(verb: str, name: str = CONNECTOR) -> None:
    """Ask Connect to stop or resume a connector."""
    url = f"{os.environ['CONNECT_URL']}/connectors/{name}/{verb}"
    requests.put(url, timeout=10).raise_for_status()


def until_unread() -> None:
    """Wait until nobody reads the slot."""
    active = f"select active from pg_replication_slots where slot_name = '{SLOT}'"
    until(lambda: query(active), lambda rows: rows == [(False,)], 30, "the slot is still read")


def stop_connector() -> None:
    """Stop the connector, and wait until its slot is free."""
    ask_connect("stop")
    until_unread()


def handled(count: int) -> list[str]:
    """Have this many orders handled; return their message ids."""
    message_ids = orders(count)
    until_handled()
    return message_ids


def published(message_ids: list[str]) -> set[str]:
    """Return those of these messages whose event is on the topic."""
    found = query(
        "select event_id::text, payload->>'message_id' from outbox"
        " where payload->>'message_id' = any(%s)",
        message_ids,
    )
    message_of = dict(found)
    on_topic = events(TOPIC, lambda event: event.headers["id"].decode() in message_of)
    return {message_of[event.headers["id"].decode()] for event in on_topic}


def all_published(message_ids: list[str], seconds: float = MINUTE) -> None:
    """Wait until the event of each of these messages is on the topic."""
    wanted = set(message_ids)
    until(lambda: wanted - published(message_ids), lambda left: not left, seconds, "not published")


def test_a_slot_that_was_made_again_is_noticed(own: Stack, reconcile: Reconcile) -> None:
    """Dropped and made again, a slot skips what was written before: Debezium refuses to go on.

    The control: without the way back, the events stay away although the slot is there.
    """
    handled(5)
    stop_connector()
    administer(f"select pg_drop_replication_slot('{SLOT}')")
    skipped = handled(20)
    until_found("slot-missing")
    administer(f"select pg_create_logical_replication_slot('{SLOT}', 'pgoutput')")
    ask_connect("resume")
    until_found("connector-offset-gone")
    assert published(skipped) == set()
    way_back("Make a slot again")
    all_published(skipped + handled(5))
    until_well()
    all_matched(reconcile())


def test_a_slot_that_was_moved_is_noticed(own: Stack, reconcile: Reconcile) -> None:
    """Moved by hand while its connector was away, a slot skips events and nothing complains.

    The control: the connector runs again, an event after the gap arrives, and those in it do not.
    """
    all_published(handled(5))
    stop_connector()
    skipped = handled(20)
    administer(f"select pg_replication_slot_advance('{SLOT}', pg_current_wal_lsn())")
    until_found("slot-ahead")
    ask_connect("resume")
    all_published(handled(1))
    assert published(skipped) == set()
    way_back("Send what was skipped")
    all_published(skipped)
    until_well()
    all_matched(reconcile())


def test_a_slot_that_lost_its_log_is_noticed(own: Stack, reconcile: Reconcile) -> None:
    """A slot that kept more than `max_slot_wal_keep_size` is given up by the server."""
    stop_connector()
    skipped = handled(20)
    administer("alter system set max_slot_wal_keep_size = '1MB'", "select pg_reload_conf()")
    for _ in range(4):
        administer(
            "create table filler as select repeat('x', 1000) from generate_series(1, 20000)",
            "drop table filler",
            "select pg_switch_wal()",
            "checkpoint",
        )
    until_found("slot-lost")
    administer("alter system reset max_slot_wal_keep_size", "select pg_reload_conf()")
    lost = query("select database from pg_replication_slots where wal_status = 'lost'")
    assert ("fulfillment",) in lost
    for (database,) in lost:  # that of the audit receiver may have been behind as well
        way_back("Make a slot again", database=database)
    all_published(skipped + handled(5))
    until_well()
    all_matched(reconcile())


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ("alter publication outbox drop table outbox", "outbox-not-published"),
        ("alter publication outbox set (publish = 'update')", "insert-not-published"),
    ],
)
def test_a_changed_publication_is_noticed(
    own: Stack, reconcile: Reconcile, broken: str, rule: str
) -> None:
    """What is written while the outbox is not published is skipped, and the task runs on."""
    administer(broken)
    skipped = handled(20)
    until_found(rule)
    way_back("Publish the outbox again")
    all_published(handled(1))
    all_published(skipped)
    until_well()
    all_matched(reconcile())


def test_a_failed_task_is_noticed(own: Stack, reconcile: Reconcile) -> None:
    """A task that failed stays down, and goes on where it was when it is restarted."""
    administer("alter role cdc nologin")
    url = f"{os.environ['CONNECT_URL']}/connectors/{CONNECTOR}/restart?includeTasks=true"
    requests.post(url, timeout=10).raise_for_status()
    until_found("connector-failed")
    waiting = handled(20)
    administer("alter role cdc login")
    way_back("Restart a failed task")
    all_published(waiting)
    until_well()
    all_matched(reconcile())


def test_lost_offsets_of_connect_lose_nothing(own: Stack, reconcile: Reconcile) -> None:
    """Without the topic of its offsets a worker stores none; a new one goes on at the slots."""
    all_published(handled(5))
    topic = "connect-offsets"
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    admin.delete_topics([topic])[topic].result()
    until_found("worker-topic-missing")
    waiting = handled(20)
    way_back("Make Connect's topics again")
    own.restart("connect")
    all_published(waiting)
    until_well()
    all_matched(reconcile())


def test_a_restored_backup_is_noticed(own: Stack, reconcile: Reconcile) -> None:
    """Restored, the log is shorter than Connect believes, and what is committed next is skipped.

    The control: an order that is handled before the way back has no event on its topic.
    """
    before = datetime.now(UTC)
    kept = handled(20)
    all_published(kept)
    data = own.settings.data_dir / "postgres"
    backup = own.settings.data_dir / "backup"
    with away(own, "postgres"):
        shutil.copytree(data, backup)
    gone = handled(30)
    all_published(gone)
    all_matched(reconcile())

    with away(own, "postgres"):
        shutil.rmtree(data)
        backup.rename(data)
    until_found("connector-beyond-log")
    skipped = handled(5)
    assert published(skipped) == set()
    own.stop("service")
    way_back("After a restore", before=f"{before:%Y-%m-%dT%H:%M:%S.000}")
    own.start("service")
    until_handled()
    all_published(kept + gone + skipped)
    until_well()
    all_matched(reconcile())


WITHOUT_STANDBY = (
    "alter system reset synchronous_standby_names",
    "alter system reset synchronized_standby_slots",
    "select pg_reload_conf()",
)


def start_standby(stack: Stack, folder: Path, *, keeps_slots: bool = True) -> None:
    """Start a standby as the page says it, and let the primary wait for it."""
    address = f"host={HOST} port={stack.settings.postgres_port} dbname=postgres"
    server = f"{address} user=standby application_name=standby"
    administer("select pg_create_physical_replication_slot('standby')")
    words = ["-d", server, "-D", str(folder), "-R", "-S", "standby", "-c", "fast"]
    copy = [*as_somebody(), tool("pg_basebackup"), *words]
    subprocess.run(copy, check=True, capture_output=True, timeout=MINUTE)
    with (folder / "postgresql.auto.conf").open("a") as settings:
        synchronize = "on" if keeps_slots else "off"
        settings.write(f"sync_replication_slots = {synchronize}\nhot_standby_feedback = on\n")
    config = stack.run_dir / "postgresql.conf"
    words = ["-D", str(folder), "-c", f"config_file={config}", "-c", f"port={STANDBY_PORT}"]
    stack.supervisor.spawn("standby", [*as_somebody(), tool("postgres"), *words], stack.env())
    administer(
        "alter system set synchronous_standby_names = 'standby'",
        "alter system set synchronized_standby_slots = 'standby'",
        "select pg_reload_conf()",
    )


def synchronized_slots() -> list[str]:
    """Return the slots that the standby keeps for its promotion, or why it does not answer."""
    password = Path(os.environ["ADMIN_DATABASE_PASSWORD_FILE"]).read_text().strip()
    address = f"host={HOST} port={STANDBY_PORT} user=postgres dbname=postgres connect_timeout=2"
    synced = "select slot_name from pg_replication_slots where synced and not temporary order by 1"
    try:
        with psycopg.connect(address, password=password) as standby:
            return [name for (name,) in standby.execute(synced)]
    except psycopg.OperationalError as error:
        return [str(error)]


def fail_over(stack: Stack, folder: Path, slots: list[str]) -> list[str]:
    """Lose the primary under load, and promote the standby that has these slots.

    Return the ids of the messages that were sent.
    """
    data = stack.settings.data_dir / "postgres"
    try:
        until(synchronized_slots, lambda names: names == slots, MINUTE, "other slots are there")
        with load(bursts=200, pause=0.05) as sent:
            until(lambda: len(sent), lambda count: count > 500, 30, "no load")
            stack.kill("postgres")
    except BaseException:
        # Whoever commits next would wait for a standby that is gone.
        administer(*WITHOUT_STANDBY)
        raise
    finally:
        stack.supervisor.stop("standby", signal.SIGINT, 20)
    shutil.rmtree(data)
    folder.rename(data)
    stack.start("postgres")
    administer("select pg_promote()")
    until_handled()
    return sent


def test_a_standby_goes_on_where_the_primary_was(own: Stack, reconcile: Reconcile) -> None:
    """Under load the primary dies for good, and the standby takes its place: nothing is skipped."""
    standby = own.settings.data_dir / "standby"
    start_standby(own, standby)
    sent = fail_over(own, standby, slots=["audit_outbox", SLOT])
    all_published(sent)
    until_well()
    all_matched(reconcile())


def test_control_a_standby_without_the_slots_publishes_nothing(
    own: Stack, reconcile: Reconcile
) -> None:
    """The control: a standby that does not synchronize has no slot to go on with, as is found."""
    standby = own.settings.data_dir / "standby"
    start_standby(own, standby, keeps_slots=False)
    sent = fail_over(own, standby, slots=[])
    until_found("slot-missing")
    assert published(sent) != set(sent)
    for database in ("fulfillment", "audit"):
        way_back("Make a slot again", database=database)
    all_published(sent)
    until_well()
    all_matched(reconcile())


@contextmanager
def second_worker(stack: Stack) -> Iterator[str]:
    """Have one more worker in the group; yield its address."""
    first = (stack.run_dir / "worker.properties").read_text()
    file = stack.run_dir / "worker-2.properties"
    file.write_text(first.replace(f":{stack.settings.connect_port}", f":{SECOND_WORKER_PORT}"))
    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    options = stack.settings.connect_java_options
    command = java(stack.settings, options, main, str(file))
    stack.supervisor.spawn("connect-2", command, stack.env())
    try:
        yield f"{HOST}:{SECOND_WORKER_PORT}"
    finally:
        stack.supervisor.stop("connect-2", signal.SIGTERM, 20)


def workers_of_tasks(address: str) -> dict[str, str]:
    """Return which worker has the running task of each connector, as this worker knows it."""
    found = {}
    try:
        answer = requests.get(f"http://{address}/connectors?expand=status", timeout=5).json()
    except requests.RequestException:
        return {}
    for name, about in answer.items():
        for task in about["status"]["tasks"]:
            if task["state"] == "RUNNING":
                found[name] = task["worker_id"]
    return found


def until_shared(ask: str, workers: set[str]) -> dict[str, str]:
    """Wait until each of two workers has a connector; return whose each is."""
    both = {CONNECTOR, "audit-outbox"}
    return until(
        lambda: workers_of_tasks(ask),
        lambda found: set(found) == both and set(found.values()) == workers,
        2 * MINUTE,
        "the two workers do not share the connectors",
    )


def test_a_worker_that_hangs_and_comes_back_loses_nothing(own: Stack, reconcile: Reconcile) -> None:
    """A frozen worker loses its connectors to another, and fights for nothing when it wakes up.

    While it hangs it keeps the slot, until the server misses it: `wal_sender_timeout`, a minute.
    """
    first = f"{HOST}:{own.settings.connect_port}"
    with second_worker(own) as second:
        workers = {first, second}
        owner = until_shared(second, workers)[CONNECTOR]
        hanging = "connect" if owner == first else "connect-2"
        all_published(handled(5))  # it has the slot
        own.kill(hanging, signal.SIGSTOP)
        waiting = handled(20)
        # The first worker is the one that is asked: if it hangs, nobody answers.
        until_found("cannot-look" if owner == first else "connector-late")
        all_published(waiting, 3 * MINUTE)
        own.kill(hanging, signal.SIGCONT)
        until_shared(second, workers)
        all_published(handled(20))
    until_well()
    all_matched(reconcile())


def test_a_clock_that_is_set_back_is_noticed(
    own: Stack, reconcile: Reconcile, tmp_path: Path
) -> None:
    """Debezium waits by the wall clock, for hours, and says RUNNING: its worker is killed."""
    clock = Clock(build_library(tmp_path), tmp_path / "connect.clock")
    own.start("connect", env=clock.env)
    all_published(handled(5))
    clock.set(-HOURS * 3600)
    waiting = handled(20)
    until_found("connector-late")
    assert published(waiting) != set(waiting)
    clock.set(0)
    own.kill("connect")
    own.start("connect")
    all_published(waiting)
    until_well()
    all_matched(reconcile())


MILLION = """
    insert into outbox (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)
    select gen_random_uuid(), 'fulfillment', '{key}', 'order-fulfilled', '-',
        json_build_object('n', n)
    from generate_series(1, 1000000) n
"""


def test_a_transaction_of_a_million_events_is_published(own: Stack) -> None:
    """A million rows of one transaction go out once and in their sequence, with 1 GiB of heap.

    It is the last: a million events without an order would only slow down the others' judges.
    """
    assert "-Xmx1g" in own.settings.connect_java_options
    worker = own.supervisor.identity("connect")
    key = fresh("million")
    begin = sum(ends(TOPIC).values())
    administer(MILLION.format(key=key))
    until(
        lambda: sum(ends(TOPIC).values()) - begin,
        lambda count: count >= 1_000_000,
        600,
        "not all of a million events are published",
    )
    bootstrap = os.environ["KAFKA_BOOTSTRAP_SERVERS"]
    of_key = (message for message in read(bootstrap, TOPIC) if message.key() == key.encode())
    numbers = [json.loads(message.value() or b"")["n"] for message in of_key]
    assert numbers == list(range(1, 1_000_001))
    assert own.supervisor.identity("connect") == worker, "Connect was started again"
    assert own.supervisor.alive("connect")
