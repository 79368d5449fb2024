"""What a load needs: by hand where that is possible, and never less for more."""

import math
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from contract.names import INPUT_TOPIC
from lab.size import check, parts
from lab.size.check import Checked, Compared
from lab.size.constants import (
    FILE,
    About,
    Connect,
    Constants,
    Cpu,
    Lake,
    Log,
    Section,
    Table,
    Topic,
    Worker,
    read_constants,
    write_constants,
)
from lab.size.demand import Demand
from lab.size.plan import MARGIN, Plan
from lab.size.queueing import PLANNED, Server, distinct, servers_for
from lab.size.reasons import Line, lines, show_bytes, table
from lab.size.setup import Setup, read_setup
from ops import cli
from ops.stack.supervisor import StackError

EVENTS = "an.event"
SETUP = Setup(
    window_seconds=0.05,
    batch_records=500,
    poll_seconds=0.05,
    batch_events=8000,
    queue_events=32 * 1024,
    partitions=3,
    max_wal_bytes=2 * 2**30,
    slot_wal_bytes=4 * 2**30,
    land_seconds=2,
    keep_days=7,
)
# Round numbers, so that a hand can follow.
CONSTANTS = Constants(
    about=About(date="2026-11-26", machine="a hand", orders=1),
    worker=Worker(
        fixed_seconds=0.01,
        each_seconds=0.0001,
        write_fixed_seconds=0.004,
        write_each_seconds=0.00004,
    ),
    connect=Connect(fixed_seconds=0.01, each_seconds=0.0001, heap_idle_mib=100, queued_bytes=1024),
    log=Log(order_bytes=3000, image_bytes=6000),
    tables={"one.table": Table(rows=1000, indexes=500)},
    keys={"one.table_pkey": 100},
    topics={INPUT_TOPIC: Topic(together=400, alone=500), EVENTS: Topic(together=200, alone=800)},
    lake=Lake(
        row_bytes={INPUT_TOPIC: 100, EVENTS: 200},
        file_bytes=4000,
        files_of_partition=1,
        commit_bytes=2000,
        entry_bytes=100,
        tombstone_bytes=50,
    ),
    cpu=Cpu(
        service=0.0001,
        postgres=0.0002,
        walsender=0.00005,
        kafka=0.0001,
        connect=0.0002,
        audit=0.0001,
    ),
)
LOADS = [0.001, 0.01, 0.1, 1, 3, 10, 50, 200, 999, 4000, 5000, 5001, 12_000, 50_000, 400_000]


def plan(rate: float, days: float = 10, **more: float) -> Plan:
    """What a hand's constants say of a load."""
    return Plan(Demand(rate, days, **more), CONSTANTS, SETUP)


def needs(made: Plan) -> dict[str, float]:
    """Whatever has to be bought, by its name; shares, batches and delays are none of it."""
    shown = ("utilisation of a worker", "orders in a batch", "usual latency, order → event")
    return {line.what: line.value for line in lines(made) if line.what not in shown}


def line(made: Plan, what: str) -> Line:
    """The line of this name."""
    [found] = [one for one in lines(made) if one.what == what]
    return found


def test_the_queueing_formulas_by_hand() -> None:
    """At 1,000 a second: 66.7 in a batch, 16.7 ms of work in a round of 66.7, half of it waited."""
    server = Server(window=0.05, fixed=0.01, each=0.0001, most=500)
    assert server.capacity == pytest.approx(500 / 0.06)
    assert server.utilisation(1000) == pytest.approx(0.12)
    assert server.batch(1000) == pytest.approx(66.67, abs=0.01)
    assert server.work(1000) == pytest.approx(0.01667, abs=0.00001)
    assert server.wait(1000) == pytest.approx(0.03333, abs=0.00001)


@pytest.mark.parametrize("rate", [20, 500, 3000, 7000])
def test_the_queueing_formulas_are_what_a_loop_does(rate: int) -> None:
    """A loop that waits, takes what has come and works has these batches, and these waits."""
    server = Server(window=0.05, fixed=0.01, each=0.0001, most=500)
    arrivals = [number / rate for number in range(20 * rate)]
    now, taken = 0.0, 0
    batches, waits = [], []
    while taken < len(arrivals):
        full = arrivals[min(taken + server.most, len(arrivals)) - 1]
        now = min(now + server.window, max(now, full))
        batch = [moment for moment in arrivals[taken : taken + server.most] if moment <= now]
        waits += [now - moment for moment in batch]
        taken += len(batch)
        batches.append(len(batch))
        now += server.fixed + server.each * len(batch)
    settled = batches[len(batches) // 2 :]
    assert sum(settled) / len(settled) == pytest.approx(server.batch(rate), rel=0.05)
    assert sum(waits) / len(waits) == pytest.approx(server.wait(rate), rel=0.05)


def test_a_batch_is_never_larger_than_it_may_be() -> None:
    """Beyond what it can do, batches are full and more does not help."""
    server = Server(window=0.05, fixed=0.01, each=0.0001, most=500)
    assert server.batch(8000) == 500
    assert server.batch(50_000) == 500
    assert server.utilisation(server.capacity) == pytest.approx(1)


@pytest.mark.parametrize(
    ("rate", "count"), [(1, 1), (599.9, 1), (600, 1), (600.1, 2), (1200, 2), (6001, 11)]
)
def test_nobody_has_more_to_do_than_is_planned(rate: float, count: int) -> None:
    """As many as keep each at 60 % of what it can do, and not one more."""
    assert servers_for(rate, 1000) == count
    assert rate / count <= PLANNED * 1000


@pytest.mark.parametrize(
    ("pages", "writes", "hit"), [(0, 10, 0), (100, 1, 1), (100, 100, 63.2), (100, 10_000, 100)]
)
def test_pages_that_random_writes_hit(pages: float, writes: float, hit: float) -> None:
    """Few writes hit a page each, as many writes as pages two of three, many writes all."""
    assert distinct(pages, writes) == pytest.approx(hit, rel=0.01)


@pytest.mark.parametrize("what", needs(plan(1)))
def test_more_load_never_needs_less(what: str) -> None:
    """Each number that is bought grows with the load, or stays, over every threshold."""
    values = [needs(plan(rate))[what] for rate in LOADS]
    assert all(less <= more * (1 + 1e-9) for less, more in pairwise(values)), values


@pytest.mark.parametrize("what", needs(plan(1)))
def test_a_longer_retention_never_needs_less(what: str) -> None:
    """The same of days."""
    values = [
        line(plan(500, days), what.replace("10 days", f"{days:g} days")).value
        for days in (1, 2, 7, 30, 365, 4000)
    ]
    assert all(less <= more for less, more in pairwise(values)), values


def test_twice_the_days_are_twice_the_rows() -> None:
    """Tables, landed rows, and topics without their open segments, follow the days."""
    once, twice = plan(500, 20), plan(500, 40)
    assert twice.tables == pytest.approx(2 * once.tables)
    assert twice.landed_rows == pytest.approx(2 * once.landed_rows)
    further = plan(500, 60)
    assert further.topics - twice.topics == pytest.approx(twice.topics - once.topics)


def test_a_small_case_by_hand() -> None:
    """100 orders a second for ten days, and an outage of an hour."""
    made = plan(100, 10, outage_hours=1)
    assert (made.workers, made.databases, made.partitions) == (2, 1, 3)
    orders = 100 * 86_400 * 10
    assert made.tables == pytest.approx(orders * 1500 * 1.2)
    assert made.landed_rows == pytest.approx(orders * 300)
    # 100 bytes of each order make an index of a million pages; 30,000 orders hit nearly as many.
    pages = orders * 100 / 8192
    images = pages * (1 - math.exp(-30_000 / pages))
    a_second = 100 * 3000 + images * 6000 / 300
    assert made.log_rate == pytest.approx(a_second)
    assert made.outage_log == pytest.approx(MARGIN * 3600 * a_second)
    assert made.max_wal == 2 * 2**30
    # 100 MiB at rest, and of two connectors 32 in a queue and 32 in a producer: 228, and half more.
    assert made.heap == 512
    # A commit every two seconds, and in each a file for each of three partitions.
    assert made.small_files_a_day == 3 * 43_200
    assert made.files_kept == 2 * 7 * 3 * 43_200


def test_latency_is_the_sum_of_its_parts() -> None:
    """Half a round and the write of the worker, half a round and the work of Debezium."""
    worker = Server(0.05, 0.01, 0.0001, 500)
    by_hand = (
        worker.round(100) / 2
        + (0.004 + 0.00004 * worker.batch(100))
        + worker.round(300) / 2
        + worker.work(300)
    )
    assert parts.latency(CONSTANTS, SETUP, 100, 300) == pytest.approx(by_hand)


def test_control_keys_in_a_sequence_need_less_log() -> None:
    """Without indexes that are hit anywhere, an order costs its own bytes and no page."""
    in_sequence = CONSTANTS.model_copy(update={"keys": {}})
    assert parts.log_bytes(in_sequence, 1000, 10**9) == 1000 * 3000
    assert parts.log_bytes(CONSTANTS, 1000, 10**9) > 1000 * (3000 + 5900)
    assert parts.log_bytes(CONSTANTS, 1000, 0) == 1000 * 3000


def test_records_that_come_together_take_less() -> None:
    """A topic's record costs what it costs alone at a trickle, and what it costs in a backlog."""
    trickle = parts.topic_bytes(CONSTANTS, SETUP, 0.1, 3)
    flood = parts.topic_bytes(CONSTANTS, SETUP, 9_000, 3)
    assert trickle == {INPUT_TOPIC: 500, EVENTS: 800}
    assert flood[EVENTS] == pytest.approx(200, rel=0.01)


def test_several_databases_share_what_is_needed() -> None:
    """Beyond what one slot's reader does, each reason also names the share of one database."""
    made = plan(12_000)
    assert made.databases == 3
    assert "in each of 3 databases" in line(made, "disk of the servers").why
    assert not any("in each of" in one.why for one in lines(plan(100)))


def test_every_number_has_a_reason() -> None:
    """Each line of the table says why, and names its part."""
    for one in lines(plan(500, peak_factor=3)):
        assert one.part
        assert len(one.why.split()) > 3, one
        assert one.value >= 0
    shown = "\n".join(table(plan(500)))
    assert all(one.what in shown for one in lines(plan(500)))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e12, "2.5 TB"), (4e15, "4 PB")],
)
def test_bytes_are_shown_in_a_unit_that_people_read(value: float, shown: str) -> None:
    """Three digits, and the largest unit of which there is one."""
    assert show_bytes(value) == shown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--orders-per-second five --retention 3", "--orders-per-second=five is no number"),
        ("--orders-per-second 0 --retention 3", "--orders-per-second=0 is out of range"),
        ("--orders-per-second nan --retention 3", "--orders-per-second=nan is out of range"),
        ("--orders-per-second 5", "--retention is missing"),
        ("--retention 5", "--orders-per-second is missing"),
        ("--orders-per-second 5 --retention -1", "--retention=-1 is out of range"),
        ("--orders-per-second 5 --retention 5 --outage-hours inf", "--outage-hours=inf is out"),
        ("--orders-per-second 5 --retention 5 --peak-factor 0.5", "--peak-factor=0.5 is out"),
        (
            "--orders-per-second 5 --retention 5 --constants no.toml",
            "--constants: no.toml: No such",
        ),
    ],
)
def test_bad_input_is_answered_in_one_sentence(
    words: str,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It names the option and what to give instead, and the exit code is 2."""
    monkeypatch.setattr(sys, "argv", ["pipeline", "size", *words.split()])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert errors[0].startswith(f"pipeline: {sentence}")


def test_constants_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Each value comes back, and each has a comment above it that says how it was measured."""
    file = tmp_path / "constants.toml"
    write_constants(CONSTANTS, file)
    assert read_constants(file) == CONSTANTS
    text = file.read_text().splitlines()
    names = {name for section in Section.__subclasses__() for name in section.model_fields}
    for above, below in pairwise(text):
        if below.partition(" = ")[0] in names:
            assert above.startswith("# ")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("each_seconds = 0.0001", "", "worker.each_seconds: Field required"),
        ("heap_idle_mib = 100", "heap_idle_mib = -1", "connect.heap_idle_mib"),
        ("[log]", "[log", "is no TOML"),
    ],
)
def test_constants_that_are_not_whole_are_refused(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    """A value that is missing or cannot be is named with its place, and nothing is worked out."""
    file = tmp_path / "constants.toml"
    write_constants(CONSTANTS, file)
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(StackError) as refused:
        read_constants(file)
    assert sentence in str(refused.value)


def test_the_constants_of_the_lab_are_whole_and_measured() -> None:
    """They can be read, were taken of more than ten thousand orders, and make a plan."""
    constants = read_constants()
    assert constants.about.orders >= 10_000
    assert constants.topics.keys() == constants.lake.row_bytes.keys()
    made = Plan(Demand(500, 30), constants, read_setup())
    assert made.workers >= 2
    assert all(one.value >= 0 for one in lines(made))
    assert FILE.read_text().startswith("# Written by `pipeline size --measure`")


@pytest.mark.parametrize(
    ("measured", "close"), [(100, True), (125, True), (75, True), (126, False), (74, False)]
)
def test_a_quarter_is_the_limit_of_the_check(measured: float, close: bool) -> None:
    """More or less than a quarter off is a miss, and the table says so."""
    one = Compared(500, "log of an order", "B", 100, measured)
    checked = Checked("a machine", 20, [one])
    assert checked.is_close is close
    assert ("MISSED" in "\n".join(check.lines(checked))) is not close
