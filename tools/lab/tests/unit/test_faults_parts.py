"""What the matrix is made of, each for itself: wires, points, clocks, results and pages."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from lab.faults.cells import all_cells
from lab.faults.clock import Clock, build_library
from lab.faults.command import (
    Choice,
    choose_cells,
    choose_seeds,
    is_clean,
    results_file,
)
from lab.faults.inspection import list_behind
from lab.faults.judge import Finding
from lab.faults.lake_log import LakeLog
from lab.faults.page import lines, render, soak_lines
from lab.faults.points import Points
from lab.faults.reads import ReadTrace
from lab.faults.results import Inspection, Results, differences, is_good
from lab.faults.soak import Sample, as_series, growing, is_flat
from lab.faults.trial import Run, prefix_of
from lab.faults.wire import Drip, LoseAnswer, Mute, Refuse, Wire, Witness
from ops.settings import Settings
from ops.stack.supervisor import StackError

HOST = "127.0.0.1"


@contextmanager
def echo() -> Iterator[Wire]:
    """Have a wire to a server that answers each piece with the same in upper case."""
    with closing(socket.create_server((HOST, 0))) as server:

        def answer(client: socket.socket) -> None:
            with client:
                while data := client.recv(1000):
                    client.sendall(data.upper())

        def accept() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        with Wire(server.getsockname()[1]) as wire:
            yield wire


def dial(wire: Wire) -> socket.socket:
    """Return a connection over the wire."""
    return socket.create_connection((HOST, wire.port), timeout=5)


def say(connection: socket.socket, text: bytes) -> bytes:
    """Return the answer to a text; nothing if the other side hangs up."""
    connection.sendall(text)
    try:
        return connection.recv(1000)
    except ConnectionResetError:
        return b""


def test_a_wire_without_damage_passes_everything_on() -> None:
    """Both ways, for several clients."""
    with echo() as wire, dial(wire) as one, dial(wire) as other:
        assert (say(one, b"a"), say(other, b"b")) == (b"A", b"B")


def test_a_cut_wire_hangs_up_and_takes_new_connections() -> None:
    """Who was connected is told so, who comes again is let in."""
    with echo() as wire:
        with dial(wire) as one:
            assert say(one, b"a") == b"A"
            assert wire.cut() == 1
            assert one.recv(10) == b""
        with dial(wire) as other:
            assert say(other, b"b") == b"B"


def test_a_mute_wire_swallows_and_says_nothing() -> None:
    """The client waits; once healed it is disconnected, because bytes of it are lost."""
    with echo() as wire, dial(wire) as one:
        assert say(one, b"a") == b"A"
        wire.damage = mute = Mute()
        one.sendall(b"b")
        one.settimeout(0.2)
        with pytest.raises(TimeoutError):
            one.recv(10)
        assert mute.hits == 1
        wire.heal()
        one.settimeout(5)
        assert one.recv(10) == b""


def test_an_answer_is_lost_after_the_request_was_passed_on() -> None:
    """Only the answer to a wanted request, and as often as asked."""
    with echo() as wire:
        wire.damage = loss = LoseAnswer(lambda data: b"x" in data)
        with dial(wire) as one:
            assert say(one, b"a") == b"A"
            assert say(one, b"x") == b""
        with dial(wire) as other:
            assert say(other, b"x") == b"X"
        assert loss.hits == 1


def test_an_answer_is_replaced() -> None:
    """The client gets ours, and then nothing more."""
    with echo() as wire, dial(wire) as one:
        wire.damage = LoseAnswer(lambda data: b"x" in data, instead=b"503")
        assert say(one, b"x") == b"503"
        assert one.recv(10) == b""


def test_a_wire_that_refuses_lets_nobody_in() -> None:
    """A new connection ends at once, and is counted."""
    with echo() as wire:
        wire.damage = refusal = Refuse()
        with dial(wire) as one:
            assert say(one, b"a") == b""
        assert refusal.hits >= 1


def test_a_slow_wire_takes_its_time_and_a_witness_counts() -> None:
    """Bytes drip; a witness lets everything through."""
    with echo() as wire, dial(wire) as one:
        wire.damage = Drip(10)
        started = time.monotonic()
        assert say(one, b"abc") == b"A"
        assert one.recv(10) + one.recv(10) == b"BC"
        assert time.monotonic() - started >= 0.2
        wire.damage = witness = Witness(b"Z")
        assert say(one, b"z") == b"Z"
        assert witness.hits == 1


PASSES = """
import sys
from pathlib import Path
from lab.faults.points import Points
from lab.faults.reads import ReadTrace
points = Points(Path(sys.argv[1]))
step = points.around("step", lambda: print("done", flush=True))
for _ in range(5):
    step()
"""


@pytest.mark.parametrize(
    ("point", "skip", "done"), [("before-step", 0, 0), ("after-step", 1, 2), ("before-other", 0, 5)]
)
def test_a_process_is_hit_where_it_was_planned(
    tmp_path: Path, point: str, skip: int, done: int
) -> None:
    """At its point, after so many others; a plan that nobody comes to stays."""
    points = Points(tmp_path / "points")
    points.plan(point, SIGKILL, skip=skip)
    ended = subprocess.run(
        [sys.executable, "-c", PASSES, str(points.folder)],
        capture_output=True,
        check=False,
        start_new_session=True,
    )
    assert ended.stdout.count(b"done") == done
    assert (ended.returncode == -SIGKILL) == (points.struck() is not None) == (done < 5)


def test_a_wrong_clock_is_one_process_s_own(tmp_path: Path) -> None:
    """It jumps while the process runs; waiting takes as long as ever, and the machine is right."""
    clock = Clock(build_library(tmp_path), tmp_path / "clock")
    script = (
        "import sys, threading, time\n"
        "for line in sys.stdin:\n"
        "    threading.Event().wait(0.01)\n"
        "    print(time.time(), flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env=os.environ | clock.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin
        assert process.stdout

        def ask() -> float:
            assert process.stdin
            assert process.stdout
            process.stdin.write("\n")
            process.stdin.flush()
            return float(process.stdout.readline())

        assert abs(ask() - time.time()) < 60
        clock.set(5 * 3600)
        assert abs(ask() - time.time() - 5 * 3600) < 60
        assert clock.times_told > 0
        clock.set(0)
        assert abs(ask() - time.time()) < 60
        assert clock.times_told == 0
        process.stdin.close()


def write_version(log: Path, version: int, *actions: dict[str, Any]) -> Path:
    """Write one version of a table's log."""
    log.mkdir(parents=True, exist_ok=True)
    file = log / f"{version:020}.json"
    file.write_text("\n".join(json.dumps(action) for action in actions))
    return file


def test_the_log_of_a_table_is_remembered(tmp_path: Path) -> None:
    """A version that changes, one that is gone, a lost file and a batch landed twice are found."""
    table = tmp_path / "landed" / "order.events"
    log = table / "_delta_log"
    write_version(log, 0, {"txn": {"appId": "a", "version": 0}})
    second = write_version(log, 1, {"add": {"path": "part", "size": 3}})
    (table / "part").write_bytes(b"abc")
    lake = LakeLog(tmp_path)
    assert lake.check() == []
    second.write_text(second.read_text() + " ")
    (table / "part").unlink()
    write_version(log, 2, {"txn": {"appId": "a", "version": 0}})
    for version in (3, 4):
        write_version(log, version, {"commitInfo": {"userMetadata": "q batch 7"}})
    sentences = [finding.sentence for finding in lake.check()]
    assert [sentence.split()[0] for sentence in sentences] == ["has", "is", "lands", "lands"]
    second.unlink()
    assert "is gone" in [finding.sentence for finding in lake.check()]


@pytest.mark.parametrize(
    ("lines_of_a_worker", "found"),
    [
        ([{"gathered": [[0, 5], [0, 6]]}, {"gathered": [[0, 7], [1, 3]]}], 0),
        ([{"gathered": [[0, 5]]}, {"gathered": [[0, 7]]}], 1),
        ([{"gathered": [[0, 5], [0, 5]]}], 1),
        (
            [{"gathered": [[0, 5], [0, 6]]}, {"rewound": [[0, 5], [0, 6]]}, {"gathered": [[0, 5]]}],
            0,
        ),
        ([{"gathered": [[0, 5]]}, {"assigned": [0]}, {"gathered": [[0, 2]]}], 0),
    ],
)
def test_a_jump_within_an_assignment_is_found(
    tmp_path: Path, lines_of_a_worker: list[dict[str, Any]], found: int
) -> None:
    """A skip and a repeat; going back to an abandoned batch, and a new assignment, are none."""
    written = [json.dumps(line) for line in lines_of_a_worker]
    (tmp_path / "7.jsonl").write_text("\n".join([*written, '{"gathered": [[0, 9']))
    trace = ReadTrace(tmp_path)
    assert len(trace.check()) == found
    assert trace.check() == []


STEADY = [Sample(5.0 * n, "audit", "memory MiB", 60.0 + n % 7) for n in range(100)]
SOAKED = {
    "at": "2026-11-22",
    "seconds": 500,
    "seed": 1,
    "runs": 20,
    "orders": 1700,
    "verdict": "fine",
    "findings": [],
    "unstruck": [],
    "growing": [],
    "series": as_series(STEADY),
}


def test_what_grows_is_told_and_a_heap_within_its_limit_is_not() -> None:
    """A leak is found by its last third; a Java heap may be as large as it was given."""
    leak = [Sample(5.0 * n, "service", "files", 100.0 + 2 * n) for n in range(100)]
    heap = [Sample(5.0 * n, "kafka", "memory MiB", 300.0 + 5 * n) for n in range(100)]
    without_leak = as_series([*STEADY, *heap])
    with_leak = as_series([*STEADY, *leak, *heap])
    assert list(growing(without_leak)) == []
    [sentence] = growing(with_leak)
    assert sentence.startswith("files of service: 298,")
    assert is_flat(SOAKED)
    grown = SOAKED | {"growing": [sentence]}
    assert not is_flat(grown)
    first_line = next(soak_lines(SOAKED))
    assert first_line.startswith("soak: 20 runs")


def a_run(cell: str, seed: int = 1, **changes: Any) -> Run:
    """Return a good run."""
    return Run(cell, seed, 3, [], 1.5, 0, [], "2026-11-22T00:00:00+00:00")._replace(**changes)


CELLS = all_cells()
[NOTHING] = [cell for cell in CELLS if cell.part == "nothing"]
FIRST = next(cell for cell in CELLS if cell.part == "service")


def table_of(results: Results) -> list[dict[str, Any]]:
    """Return the rows of two cells."""
    cells = [NOTHING, FIRST]
    return results.table(cells, {cell.name: [1, 2] for cell in cells})


def test_a_slice_is_resumed_where_it_was_inspected(tmp_path: Path) -> None:
    """What was run and never inspected is run again; a finding comes back with its run."""
    results = Results(tmp_path / "results.jsonl")
    finding = Finding("I4", "m-1", "is 2 times in fulfillment")
    results.add(a_run(NOTHING.name))
    results.add(a_run(FIRST.name, findings=[finding]))
    done = [(NOTHING.name, 1), (FIRST.name, 1)]
    late = {f"{NOTHING.name}/1": [finding]}
    results.inspected(Inspection(done, "fine", late))
    results.add(a_run(FIRST.name, 2))
    again = Results(results.file)
    again.load()
    assert set(again.runs) == set(done)
    assert [row["violations"] for row in table_of(again)] == [1, 1]


def test_a_row_counts_the_seeds_that_were_asked_for(tmp_path: Path) -> None:
    """A slice of one seed says "1 of 1", also where other seeds were run before."""
    results = Results(tmp_path / "results.jsonl")
    for seed in (1, 2, 7):
        results.add(a_run(FIRST.name, seed))
    [row] = results.table([FIRST], {FIRST.name: [7]})
    assert (row["runs"], row["wanted"]) == (1, 1)


def test_a_hop_that_stands_still_is_a_finding() -> None:
    """While a hop is behind, reconciliation may compare nothing: that is not to look clean."""
    hop = "outbox → rejection.events"
    stuck = {"hop": hop, "waiting": 1200, "since": None, "where": ""}
    assert list_behind({"behind": [stuck]}) == [Finding("I17", hop, "is behind: 1,200 wait")]
    assert list_behind({"behind": []}) == []


def test_a_fault_that_never_struck_is_red(tmp_path: Path) -> None:
    """Good is only what has struck in every run and violated nothing."""
    results = Results(tmp_path / "results.jsonl")
    results.add(a_run(NOTHING.name))
    results.add(a_run(FIRST.name, hits=0))
    rows = table_of(results)
    assert [is_good(row) for row in rows] == [True, False]
    assert not is_clean({"cells": rows})
    assert is_clean({"cells": rows[:1]})
    assert not is_clean({"cells": []})


def test_the_runs_of_a_page_are_kept_beside_it() -> None:
    """So that they are committed with it; those of no page stay in the run folder."""
    settings = Settings()
    assert results_file(settings, Path("pages/faults.md")) == Path("pages/faults.jsonl")
    assert results_file(settings, None) == settings.run_dir / "faults" / "results.jsonl"


def test_the_page_names_what_has_not_run(tmp_path: Path) -> None:
    """Runs that are missing, and cells without any."""
    results = Results(tmp_path / "results.jsonl")
    results.add(a_run(NOTHING.name))
    document = {
        "at": "2026-11-22",
        "machine": "somewhere",
        "cells": table_of(results),
        "verdicts": ["fine"],
        "differences": [],
        "soak": None,
    }
    page = render("page.md.j2", document, picture="faults.html")
    assert "3 of 4 runs: nothing is known of them yet." in page
    assert f"1 of 2 cells have not run at all: `{FIRST.name}`." in page


def test_what_differs_from_the_run_before_comes_first(tmp_path: Path) -> None:
    """A violation, a slow recovery, a cell that is new and one that is gone."""
    results = Results(tmp_path / "results.jsonl")
    results.add(a_run(FIRST.name))
    before = [*table_of(results), {"cell": "old.one.kill", "runs": 1}]
    results.add(a_run(NOTHING.name))
    results.add(a_run(FIRST.name, findings=[Finding("I1", "x", "y")], recovery_seconds=60.0))
    found = list(differences(before, table_of(results)))
    assert found == [
        f"{NOTHING.name} is new",
        f"{FIRST.name}: violations 1, 0 before",
        f"{FIRST.name}: recovers in 60.0 s, in 1.5 s before",
        "old.one.kill is gone",
    ]
    document = {
        "at": "2026-11-22",
        "machine": "somewhere",
        "cells": table_of(results),
        "verdicts": ["fine"],
        "differences": found,
        "soak": SOAKED,
    }
    assert next(lines(document)) == found[0]
    for template in ("page.md.j2", "page.html.j2"):
        page = render(template, document, picture="faults.html")
        assert page.index(found[0]) < page.index(f"{FIRST.point}")


def test_every_cell_has_a_name_of_its_own_and_its_seeds() -> None:
    """Twenty seeds for what kills, two for the others; the same seed has the same ids."""
    assert len(CELLS) > 120
    names = {cell.name for cell in CELLS}
    assert len(names) == len(CELLS)
    of_kills = {cell.seeds for cell in CELLS if cell.fault == "kill"}
    of_others = {cell.seeds for cell in CELLS if cell.fault != "kill"}
    assert of_kills == {20}
    assert of_others == {2}
    prefixes = {prefix_of(name, 1) for name in names}
    assert len(prefixes) == len(CELLS)


def test_cells_are_chosen_by_part_name_or_pattern(tmp_path: Path) -> None:
    """A name that means nothing is refused before anything starts."""
    settings = Settings(run_dir=tmp_path)
    assert [cell.name for cell in choose_cells(settings, [FIRST.name])] == [FIRST.name]
    assert {cell.part for cell in choose_cells(settings, ["audit"])} == {"audit"}
    assert {cell.fault for cell in choose_cells(settings, ["*.stop"])} == {"stop"}
    with pytest.raises(StackError, match="--list"):
        choose_cells(settings, ["elsewhere"])
    assert choose_seeds(FIRST, Choice(seed=7)) == [7]
    assert choose_seeds(FIRST, Choice(seeds=3)) == [1, 2, 3]
