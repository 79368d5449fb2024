"""The stack's pure parts: what it remembers, and the sentences with which it refuses to start."""

import ctypes
import json
import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any, Literal

import pytest
from pydantic import ValidationError

from ops.cli import explain
from ops.extra import ExtraProcess, extra_processes
from ops.jars import fetch_jars, jars_folder
from ops.settings import Settings
from ops.stack import database, worker
from ops.stack.broker import prepare, write_broker
from ops.stack.checks import disk_full, java_unfit, port_taken, refuse_part_of_the_path
from ops.stack.database import users_of_memory
from ops.stack.files import ROLES, is_whole, make_secrets
from ops.stack.kafka import override
from ops.stack.part import parts
from ops.stack.state import Identity, State, read_state, write_state
from ops.stack.supervisor import StackError
from ops.status import healthy, slot_lines

# Of System V's shared memory.
PRIVATE = 0
CREATE = 0o1600
REMOVE = 0


def test_a_state_that_was_written_is_read_again(tmp_path: Path) -> None:
    """What was started is found by the next command; before the first there is nothing."""
    file = tmp_path / "processes.json"
    assert read_state(file) == State()
    state = State(
        owner=Identity(pid=7, started=1.5), processes={"kafka": Identity(pid=8, started=2.25)}
    )
    write_state(file, state)
    assert read_state(file) == state
    assert [path.name for path in tmp_path.iterdir()] == ["processes.json"]


CORE = ["postgres", "kafka", "connect", "audit", "service"]


def test_what_is_not_asked_for_is_not_started(tmp_path: Path) -> None:
    """The landing that goes on is a part only of a stack that asks for it."""
    settings = Settings(_env_file=None, run_dir=tmp_path, jars_dir=tmp_path)  # type: ignore[call-arg]
    assert [part.name for part in parts(settings)] == CORE
    landing = settings.model_copy(update={"land": True})
    assert [part.name for part in parts(landing)] == [*CORE, "land"]


@pytest.mark.parametrize(("name", "process"), extra_processes().items())
def test_an_extra_starts_when_its_switch_is_on(
    tmp_path: Path, name: str, process: ExtraProcess
) -> None:
    """The process of a manifest is a part, before the services, only if the stack asks for it."""
    settings = Settings(
        _env_file=None,  # type: ignore[call-arg]
        run_dir=tmp_path,
        jars_dir=tmp_path,
        extras={process.switch: True, process.port: 1234},
    )
    there = {part.name: part for part in parts(settings)}
    assert [*there] == [*CORE[:-1], name, CORE[-1]]
    assert there[name].ports == {process.port: 1234}


def test_a_setting_of_no_extra_is_refused() -> None:
    """The sentence names the setting, which a deleted extra may have left behind."""
    with pytest.raises(ValueError, match="no extra that is here has a setting NOSUCH_PORT"):
        Settings(extras={"NOSUCH_PORT": 1})


def test_a_setting_of_an_extra_has_the_type_of_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the environment says of it is read as a number or a switch, or refused by name."""
    for process in extra_processes().values():
        monkeypatch.setenv(process.port, "4321")
        assert Settings().extras[process.port] == 4321
        monkeypatch.setenv(process.port, "many")
        with pytest.raises(ValueError, match=f"{process.port}=many is no int"):
            Settings()
        monkeypatch.delenv(process.port)


def test_a_pid_that_was_given_to_another_process_is_not_ours() -> None:
    """A pid with another start time is another process, and its group is not signalled."""
    me = Identity.of(os.getpid())
    assert me.alive()
    stranger = Identity(pid=me.pid, started=me.started - 60)
    assert not stranger.alive()
    assert stranger.group() == []


@pytest.mark.parametrize(
    ("printed", "refusal"),
    [
        ('openjdk version "17.0.15" 2025-04-15', None),
        ('openjdk version "21-ea" 2023-09-19', None),
        ('java version "1.8.0_392"', "Java is version 8"),
        ('openjdk version "11.0.2" 2019-01-15', "Java is version 11"),
        (None, "there is no java"),
        ("Error: no runtime present", "does not work"),
    ],
)
def test_a_java_that_will_not_do_is_named_with_the_way_out(
    printed: str | None, refusal: str | None
) -> None:
    """Missing, broken and old are different sentences, and each says what to install."""
    sentence = java_unfit(printed)
    assert (sentence is None) == (refusal is None)
    assert sentence is None or (refusal or "") in sentence
    assert sentence is None or "install a JDK 17 or newer" in sentence


def test_too_little_disk_is_reported_in_numbers() -> None:
    """How much there is, how much is needed, and which setting moves the data."""
    assert disk_full(2.0) is None
    sentence = disk_full(1.26)
    assert sentence is not None
    assert all(word in sentence for word in ("1.3 GiB", "2 are needed", "RUN_DIR"))


def test_a_taken_port_is_reported_with_its_setting_and_its_owner() -> None:
    """The port, the setting that changes it, and who has it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        sentence = port_taken("KAFKA_PORT", port)
        assert sentence is not None
        assert all(word in sentence for word in (str(port), "KAFKA_PORT", f"pid {os.getpid()}"))
    assert port_taken("KAFKA_PORT", port) is None


def test_the_settings_of_a_machine_replace_those_of_the_shared_file(tmp_path: Path) -> None:
    """Each key is there once in what the process reads; comments and other keys stay."""
    shared = tmp_path / "shared"
    shared.write_text("# why\nlisteners=all\nnode.id=1\n")
    override(shared, {"listeners": "one", "log.dirs": "/data"}, tmp_path / "own")
    assert (tmp_path / "own").read_text() == "# why\nnode.id=1\nlisteners=one\nlog.dirs=/data\n"


def secured(tmp_path: Path) -> Settings:
    """Return the settings of a stack that is secured."""
    (tmp_path / "data").mkdir(exist_ok=True)
    return Settings(run_dir=tmp_path, jars_dir=tmp_path, secure=True)


def test_a_secured_stack_has_no_listener_in_clear(tmp_path: Path) -> None:
    """Broker and worker are told the shared lines, with this machine's folders and addresses.

    What is left in clear is health and metrics of the service.
    """
    settings = secured(tmp_path)
    write_broker(settings, tmp_path / "data", tmp_path / "broker")
    worker.prepare(settings, lambda _name, _command: None)
    text = (tmp_path / "broker").read_text() + (tmp_path / "worker.properties").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in lines if "PLAINTEXT" in line or "http://" in line]
    assert not [line for line in lines if "/run/secrets" in line.replace(str(tmp_path), "")]
    assert f"ssl.truststore.location={tmp_path}/tls/ca.pem" in lines
    urls = [url for name, url in settings.environment().items() if name.endswith("_URL")]
    in_clear = [url for url in urls if "sslmode=verify-full" not in url and "https" not in url]
    assert in_clear == [settings.environment()["SERVICE_URL"]]


def test_a_broker_from_before_is_not_secured_in_silence(tmp_path: Path) -> None:
    """Its storage knows no user: it is refused with the way out, and nothing of it is changed."""
    settings = secured(tmp_path)
    (tmp_path / "data" / "kafka").mkdir()
    with pytest.raises(StackError, match=r"SECURE=true: the broker .*pipeline down --data"):
        prepare(settings, lambda _name, _command: None)
    assert not (tmp_path / "broker.properties").exists()


def test_a_folder_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """An interruption leaves nothing that looks finished, and the next try begins again."""
    folder = tmp_path / "data"

    def fill(*, interrupted: bool) -> None:
        with is_whole(folder) as place:
            assert place is not None
            assert list(place.iterdir()) == []
            (place / "half").touch()
            if interrupted:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill(interrupted=True)
    assert not folder.exists()
    fill(interrupted=False)
    assert [file.name for file in folder.iterdir()] == ["half"]
    with is_whole(folder) as place:
        assert place is None


def test_secrets_are_read_by_their_owner_alone_and_stay_the_same(tmp_path: Path) -> None:
    """Each role has a random password of its own, which a second start does not change."""
    settings = Settings(run_dir=tmp_path)
    make_secrets(settings)
    files = sorted((tmp_path / "secrets").iterdir())
    before = {file.name: file.read_text() for file in files}
    make_secrets(settings)
    assert {file.name: file.read_text() for file in files} == before
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    assert len(set(before.values())) == len(before) == len(ROLES) + 1  # and a pgpass of all


def test_jars_are_kept_by_the_state_of_their_pom(tmp_path: Path) -> None:
    """A changed pom is another folder, so that jars of two versions never mix."""
    pom = tmp_path / "connect" / "pom.xml"
    pom.parent.mkdir()
    pom.write_text("one")
    one = jars_folder(tmp_path, pom)
    pom.write_text("two")
    assert one != jars_folder(tmp_path, pom)
    assert one.name.startswith("connect-")


def test_jars_are_kept_by_the_state_of_their_sources_too(tmp_path: Path) -> None:
    """A changed file in Java is compiled again; one elsewhere is nobody's business."""
    pom = tmp_path / "spark" / "pom.xml"
    source = tmp_path / "spark" / "java" / "One.java"
    source.parent.mkdir(parents=True)
    pom.write_text("<sourceDirectory>java</sourceDirectory>")
    source.write_text("class One {}")
    one = jars_folder(tmp_path, pom)
    (tmp_path / "Other.java").write_text("class Other {}")
    assert jars_folder(tmp_path, pom) == one
    source.write_text("final class One {}")
    assert jars_folder(tmp_path, pom) != one


def test_of_two_that_need_jars_at_once_one_fetches_them(tmp_path: Path) -> None:
    """The second waits and finds them: Maven's own cache is not made for two writers."""
    pom = tmp_path / "connect" / "pom.xml"
    pom.parent.mkdir()
    pom.write_text("one")
    first_is_at_work = Event()
    second_is_there = Event()
    fetches: list[list[str]] = []

    def maven(_name: str, command: list[str]) -> None:
        fetches.append(command)
        first_is_at_work.set()
        assert second_is_there.wait(10)
        target = command[-1].removeprefix("-DoutputDirectory=")
        Path(target).mkdir(parents=True)

    def fetch_second() -> Path:
        assert first_is_at_work.wait(10)
        second_is_there.set()
        return fetch_jars(maven, tmp_path, pom, {})

    with ThreadPoolExecutor() as pool:
        second = pool.submit(fetch_second)
        first = fetch_jars(maven, tmp_path, pom, {})
        assert second.result(10) == first
    assert first.is_dir()
    assert len(fetches) == 1


def test_no_password_stands_in_the_environment(tmp_path: Path) -> None:
    """`.run/env` names files: what is printed or inherited gives nothing away."""
    settings = Settings(run_dir=tmp_path)
    make_secrets(settings)
    passwords = [file.read_text() for file in (tmp_path / "secrets").glob("*_password")]
    assert not [
        name for name, value in settings.environment().items() if any(p in value for p in passwords)
    ]


def test_addresses_from_outside_count_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded stack uses no broker that the shell happens to know; `ATTACH` is for compose."""
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "kafka:9092")
    assert Settings(attach=False).environment()["KAFKA_BOOTSTRAP_SERVERS"] != "kafka:9092"
    assert Settings(attach=True).environment()["KAFKA_BOOTSTRAP_SERVERS"] == "kafka:9092"


def test_a_revision_that_was_changed_after_it_was_applied_is_named(tmp_path: Path) -> None:
    """The sentence has its file and both ways out; an unchanged one is not mentioned."""
    settings = Settings(_env_file=None, run_dir=tmp_path)  # type: ignore[call-arg]
    assert database.changed_revision(settings) is None
    settings.data_dir.mkdir()
    database.remember_revisions(settings)
    assert database.changed_revision(settings) is None
    applied = database.applied_file(settings)
    known = json.loads(applied.read_text())
    assert "migrations/fulfillment/0001_first.py" in known
    applied.write_text(json.dumps(known | {"migrations/fulfillment/0001_first.py": "another"}))
    sentence = database.changed_revision(settings)
    assert sentence is not None
    assert "migrations/fulfillment/0001_first.py was changed" in sentence
    assert "a revision of its own" in sentence
    assert "pipeline down --data" in sentence


def test_a_revision_may_be_worded_otherwise() -> None:
    """Comments, docstrings and layout make no other table."""
    first = 'def upgrade() -> None:\n    """Make it."""\n    op.execute("create table t ()")\n'
    second = (
        'def upgrade() -> None:\n    # why\n    op.execute(\n        "create table t ()"\n    )\n'
    )
    other = first.replace("table t", "table u")
    assert database.digest(first) == database.digest(second)
    assert database.digest(first) != database.digest(other)


def test_topic_group_and_subscriber_are_settings_of_the_whole_stack(tmp_path: Path) -> None:
    """Whatever INPUT_TOPIC, GROUP_ID and SUBSCRIBER say, every part and every command learns it."""
    named = {"input_topic": "parcel.events", "group_id": "second", "subscriber": "third"}
    settings = Settings(_env_file=None, run_dir=tmp_path, **named)  # type: ignore[call-arg,arg-type]
    environment = settings.environment()
    assert {name: environment[name.upper()] for name in named} == named


def test_a_port_beyond_the_last_is_refused() -> None:
    """A number that no socket takes is an error in the setting, not a traceback later."""
    with pytest.raises(ValidationError, match="audit_port"):
        Settings(audit_port=65_536)


def test_a_setting_that_no_extra_declares_is_named() -> None:
    """Our own sentence about it is printed as it is, and says where settings are explained."""
    with pytest.raises(ValidationError) as refused:
        Settings(extras={"NO_SUCH": 1})
    sentence = "no extra that is here has a setting NO_SUCH (see .env.example)"
    assert explain(refused.value) == sentence


def test_a_slot_that_is_gone_is_shown() -> None:
    """A missing slot has a line of its own, and one that lost its log says so."""
    missing = {"slot": "a", "active": False, "wal_status": "missing", "lag_bytes": None}
    lost = {"slot": "b", "active": True, "wal_status": "lost", "lag_bytes": 7}
    assert slot_lines([missing, lost]) == [
        "slot a: MISSING",
        "slot b: 7 bytes behind, active, its log is lost",
    ]


def test_parts_and_slots_and_connectors_make_a_healthy_stack() -> None:
    """Each of them alone, missing or not well, is enough for exit code 1."""
    calm = {"burst": False}
    well: dict[str, Any] = {
        "refused": {"dead_letters": calm, "audit_refusals": calm},
        "processes": [{"ready": True}],
        "consumer_lag": {0: 5},
        "publishes": True,
        "slots": [{"active": True, "wal_status": "reserved"}],
        "connectors": {"fulfillment-outbox": ["RUNNING", "RUNNING"]},
    }
    assert healthy(well)
    assert not healthy(well | {"processes": [{"ready": False}]})
    assert not healthy(well | {"consumer_lag": None})
    assert not healthy(well | {"slots": None})
    assert not healthy(well | {"slots": [{"active": False, "wal_status": "reserved"}]})
    assert not healthy(well | {"slots": [{"active": True, "wal_status": "lost"}]})
    assert not healthy(well | {"connectors": None})
    assert not healthy(well | {"refused": None})
    for kind in ("dead_letters", "audit_refusals"):
        burst = well["refused"] | {kind: {"burst": True}}
        assert not healthy(well | {"refused": burst})
    assert not healthy(well | {"connectors": {"fulfillment-outbox": ["RUNNING", "FAILED"]}})


def test_without_connect_only_a_slot_that_is_left_makes_a_stack_unhealthy() -> None:
    """ADOPT=consumer: there is nothing to read from, and nothing may hold the log either."""
    calm = {"burst": False}
    well: dict[str, Any] = {
        "refused": {"dead_letters": calm, "audit_refusals": calm},
        "processes": [{"ready": True}],
        "consumer_lag": {0: 5},
        "publishes": False,
        "slots": [],
        "connectors": {},
    }
    assert healthy(well)
    assert not healthy(well | {"publishes": True})
    assert not healthy(well | {"slots": [{"active": False, "wal_status": "reserved"}]})


@pytest.mark.parametrize(
    ("adopt", "names"),
    [
        ("consumer", ["postgres", "kafka", "service"]),
        ("outbox", ["postgres", "kafka", "connect", "service"]),
        ("all", ["postgres", "kafka", "connect", "audit", "service"]),
    ],
)
def test_a_stack_may_have_a_part_of_the_path(
    tmp_path: Path, adopt: Literal["consumer", "outbox", "all"], names: list[str]
) -> None:
    """Whoever adopts one pattern after the other starts with fewer processes."""
    found = parts(Settings(run_dir=tmp_path, adopt=adopt))
    assert [part.name for part in found] == names
    service = found[-1]
    assert (service.env.get("AUDIT_MODE") == "none") == (adopt != "all")
    migrations = found[0].then["migrations"]
    assert ("--without-slots" in migrations) == (adopt == "consumer")


def test_a_part_of_the_path_is_not_reconciled(tmp_path: Path) -> None:
    """The sentence says how to get the rest."""
    with pytest.raises(StackError, match=r"ADOPT=outbox.*start it with ADOPT=all"):
        refuse_part_of_the_path(Settings(run_dir=tmp_path, adopt="outbox"))
    refuse_part_of_the_path(Settings(run_dir=tmp_path))


@pytest.mark.skipif(sys.platform != "linux", reason="it is read from /proc")
def test_the_processes_of_a_killed_server_are_counted(tmp_path: Path) -> None:
    """The next server must wait for them: it refuses shared memory that somebody still uses.

    Control: once they are gone there is nobody to wait for.
    """
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    segment = libc.shmget(PRIVATE, 4096, CREATE)
    assert segment >= 0
    lines = ["4711", str(tmp_path), "1700000000", "5432", "", "127.0.0.1", f"    1 {segment:>9}"]
    Path(tmp_path, "postmaster.pid").write_text("\n".join(lines))
    try:
        address = libc.shmat(segment, None, 0)
        assert users_of_memory(tmp_path) == 1
        libc.shmdt(ctypes.c_void_p(address))
        assert users_of_memory(tmp_path) == 0
    finally:
        libc.shmctl(segment, REMOVE, None)


def test_nobody_is_left_of_a_server_that_has_stopped(tmp_path: Path) -> None:
    """It takes its file along."""
    assert users_of_memory(tmp_path) == 0
