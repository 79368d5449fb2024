"""The throwaway stack, before it is started: it can meet no other stack on the machine."""

import os
from pathlib import Path
from typing import Any

import pytest

from contract.names import INPUT_TOPIC
from lab.environment import (
    EXTRA_PORT_SETTINGS,
    PORT_SETTINGS,
    PORTS,
    choose_parts,
    free_ports,
    own_settings,
)
from lab.faults import command as faults
from lab.ladder.command import ladder
from lab.year import command as year
from ops.progress import step
from ops.settings import Settings
from ops.stack.stack import silently
from ops.stack.state import Identity, State, write_state
from ops.stack.supervisor import StackError


def make_own(tmp_path: Path, **changes: Any) -> tuple[Settings, Settings]:
    """Return a user's settings and those of a throwaway stack."""
    usual = Settings(run_dir=tmp_path, attach=True)
    return usual, own_settings(usual, "bench", free_ports(PORTS), {}, **changes)


def test_ports_are_never_given_twice() -> None:
    """All are held at once, so that the system cannot hand one out again."""
    assert len(set(free_ports(50))) == 50


@pytest.mark.parametrize("name", [*PORT_SETTINGS, *EXTRA_PORT_SETTINGS])
def test_no_port_is_the_users(tmp_path: Path, name: str) -> None:
    """Neither a port of the stack nor one of an extra."""
    usual, own = make_own(tmp_path)
    if name in EXTRA_PORT_SETTINGS:
        assert usual.extras[name] != own.extras[name]
    else:
        assert getattr(usual, name) != getattr(own, name)


def test_the_folder_is_its_own_and_the_jars_are_shared(tmp_path: Path) -> None:
    """Data of the user's stack is out of reach, and nothing is downloaded a second time."""
    usual, own = make_own(tmp_path)
    assert own.run_dir == usual.run_dir / "bench"
    assert own.jars == usual.jars
    assert not own.attach


def test_only_chosen_parts_are_started(tmp_path: Path) -> None:
    """Where none is chosen, all of them are."""
    _, own = make_own(tmp_path, services=2)
    assert list(choose_parts(own, silently, ["kafka", "postgres"]).parts) == ["postgres", "kafka"]
    assert {"connect", "audit", "service", "service-2"} <= choose_parts(
        own, silently, []
    ).parts.keys()


def test_the_stack_is_plain_and_has_one_broker(tmp_path: Path) -> None:
    """SECURE and BROKERS are for the user's stack: the lab's proxies and clients speak no TLS."""
    usual = Settings(run_dir=tmp_path, secure=True, brokers=3)
    own = own_settings(usual, "bench", free_ports(PORTS), {})
    assert (own.secure, own.brokers) == (False, 1)
    assert own.security is None


def test_the_topic_is_the_one_that_the_lab_writes(tmp_path: Path) -> None:
    """INPUT_TOPIC of the shell or of .env is for the user's stack."""
    usual = Settings(run_dir=tmp_path, input_topic="purchase.events")
    own = own_settings(usual, "bench", free_ports(PORTS), {})
    assert own.input_topic == INPUT_TOPIC


def run_faults(own: Settings) -> None:
    """One cell of the matrix."""
    faults.faults(own, step, faults.Choice(only=["nothing"]))


def run_ladder(own: Settings) -> None:
    """One cell of the ladder."""
    ladder(own, step, [0], ["none"], orders=100, seed=1, output=None)


def run_year(own: Settings) -> None:
    """One day."""
    choice = year.Choice(days=1, orders=10, seed=1, minutes=1, resume=False, output=None)
    year.year(own, step, choice)


RUNS = {
    "faults/results.jsonl": run_faults,
    "ladder.jsonl": run_ladder,
    "year/days.jsonl": run_year,
}


@pytest.mark.parametrize("name", RUNS)
def test_a_second_run_is_refused_and_removes_nothing(tmp_path: Path, name: str) -> None:
    """The one that is at work, here our parent, keeps its data and its results."""
    folder = tmp_path / name.split("/", maxsplit=1)[0].removesuffix(".jsonl")
    lake = folder / "delta" / "landed"
    lake.mkdir(parents=True)
    results = tmp_path / name
    results.write_text("a result\n")
    at_work = Identity.of(os.getppid())
    write_state(folder / "processes.json", State(owner=at_work))
    with pytest.raises(StackError, match=f"belongs to .* [(]pid {at_work.pid}[)]"):
        RUNS[name](Settings(run_dir=tmp_path))
    assert lake.exists()
    assert results.read_text() == "a result\n"
