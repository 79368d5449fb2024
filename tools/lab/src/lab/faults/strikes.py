"""The faults: each strikes, lasts, ends, and says how often it really did any harm.

A fault that has done none returns 0; its cell is then red, because it proved nothing.
"""

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM, Signals
from typing import NamedTuple

import psutil
from confluent_kafka import Consumer, TopicPartition

from contract.names import INPUT_TOPIC
from lab.environment import connect_as_admin
from lab.faults.load import Load
from lab.faults.site import WORKERS, Site
from lab.faults.wire import ChangeAnswer, Damage, Drip, LoseAnswer, Mute, Refuse, Wanted, Witness
from ops.stack.supervisor import until

STRIKE_SECONDS = 60  # until somebody comes to the point, or some harm is done
STIR_SECONDS = 5.0  # one rebalance may be too few for a plan that lets others pass first
STOPPED_SECONDS = 5.0  # beyond each timeout in PATIENCE
CUTS = 3
LONGEST_DELAYS = {"during-append": 1.0}  # a step of Spark takes longer than one of the service
FETCH = 1
NOT_AVAILABLE = b"HTTP/1.1 %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
HTTP_ERRORS = (b"500 Internal Server Error", b"503 Service Unavailable", b"429 Too Many Requests")
FULL = "No space left on device"


class Trial(NamedTuple):
    """One run of a cell: the prefix of its ids, its dice, and its load."""

    run: str
    rng: random.Random
    load: Load


Strike = Callable[[Site, Trial], int]


def do_nothing(_site: Site, _trial: Trial) -> int:
    """Let everything be: the control of the matrix."""
    return 1


def hit_at(point: str, number: Signals, stir: Strike = do_nothing) -> Strike:
    """Kill or freeze the process that comes to this point."""

    def strike(site: Site, trial: Trial) -> int:
        longest = LONGEST_DELAYS.get(point, 0.02) if point.startswith("during") else 0
        delay = trial.rng.uniform(0, longest)
        site.points.plan(point, number, skip=trial.rng.randint(0, 3), delay=delay)
        stir_until_struck(site, trial, stir)
        pid = site.points.struck()
        site.points.forget()
        if pid is None:
            return 0
        if number == SIGSTOP:
            return freeze(pid)
        return int(until(lambda: not is_running(pid), STRIKE_SECONDS))

    return strike


def stir_until_struck(site: Site, trial: Trial, stir: Strike) -> None:
    """Stir again and again, until a process came to the planned point or the time is up."""
    deadline = time.monotonic() + STRIKE_SECONDS
    while site.points.struck() is None and time.monotonic() < deadline:
        stir(site, trial)
        until(lambda: site.points.struck() is not None, STIR_SECONDS)


def is_running(pid: int) -> bool:
    """Return whether a process is there, and not only waits to be reaped."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def freeze(pid: int) -> int:
    """Leave a process frozen beyond each timeout, then let it go on.

    One that was asked to end and froze on the way was killed meanwhile, as a supervisor does.
    """
    time.sleep(STOPPED_SECONDS)
    try:
        frozen = psutil.Process(pid).status() == psutil.STATUS_STOPPED
        os.killpg(pid, SIGCONT)
    except (psutil.NoSuchProcess, ProcessLookupError):
        return 1
    return int(frozen)


def restart_a_worker(site: Site, trial: Trial) -> int:
    """Make the group rebalance: one worker leaves and comes back."""
    name = trial.rng.choice(WORKERS)
    site.stack.restart(name)
    return 1


def kill(*names: str) -> Strike:
    """Kill parts (-9) at once, at any moment."""

    def strike(site: Site, _trial: Trial) -> int:
        alive = [name for name in names if site.stack.supervisor.alive(name)]
        for name in alive:
            site.stack.kill(name, SIGKILL)
        return len(alive)

    return strike


def kill_while_stopping(site: Site, trial: Trial) -> int:
    """Kill a worker that was asked to stop and has not finished."""
    name = trial.rng.choice(WORKERS)
    site.stack.kill(name, SIGTERM)
    time.sleep(trial.rng.uniform(0, 0.1))
    hits = int(site.stack.supervisor.alive(name))
    site.stack.kill(name, SIGKILL)
    return hits


def replay(site: Site, _trial: Trial) -> int:
    """Give the group every record once more, from the first."""
    for name in WORKERS:
        site.stack.stop(name)
    env = site.stack.env()
    ends = site.observer.ends([INPUT_TOPIC])
    first = [TopicPartition(*position, low) for position, (low, _) in ends.items()]
    servers = {"bootstrap.servers": env["KAFKA_BOOTSTRAP_SERVERS"], "group.id": env["GROUP_ID"]}
    with Consumer(servers) as consumer:
        consumer.commit(offsets=first, asynchronous=False)
    for name in WORKERS:
        site.stack.start(name)
    return sum(end - low for low, end in ends.values())


def restart_in_turn(site: Site, _trial: Trial) -> int:
    """Stop and start each part, one after the other, as an update of all of them does."""
    for name in site.stack.parts:
        site.stack.restart(name)
    return len(site.stack.parts)


def stop(*names: str) -> Strike:
    """Freeze parts beyond each timeout."""

    def strike(site: Site, _trial: Trial) -> int:
        for name in names:
            site.stack.kill(name, SIGSTOP)
        time.sleep(STOPPED_SECONDS)
        frozen = [name for name in names if is_frozen(site, name)]
        for name in names:
            site.stack.kill(name, SIGCONT)
        return len(frozen)

    return strike


def is_frozen(site: Site, name: str) -> bool:
    """Return whether a part was stopped and still is."""
    identity = site.stack.supervisor.identity(name)
    return identity is not None and (psutil.Process(identity.pid).status() == psutil.STATUS_STOPPED)


def jump(hours: int, *parts: str) -> Strike:
    """Set clocks wrong by hours while the parts run, and right again later."""

    def strike(site: Site, _trial: Trial) -> int:
        clocks = [site.clocks[part] for part in parts]
        for clock in clocks:
            clock.set(hours * 3600)
        time.sleep(3)
        told = min(clock.times_told for clock in clocks)
        for clock in clocks:
            clock.set(0)
        return told

    return strike


def fill_disk(part: str) -> Strike:
    """Leave a part without room for another byte, until it has noticed."""

    def strike(site: Site, _trial: Trial) -> int:
        before = count_in_log(site, part, FULL)
        site.disks[part].fill()
        until(lambda: count_in_log(site, part, FULL) > before, STRIKE_SECONDS)
        site.disks[part].make_room()
        return count_in_log(site, part, FULL) - before

    return strike


def refuse_writes(site: Site, _trial: Trial) -> int:
    """Make the lake read-only, until the landing has noticed."""
    before = count_in_log(site, "land", "Read-only file system")
    disk = site.disks["land"]
    disk.refuse_writes(refuse=True)
    until(lambda: count_in_log(site, "land", "Read-only file system") > before, STRIKE_SECONDS)
    disk.refuse_writes(refuse=False)
    return count_in_log(site, "land", "Read-only file system") - before


def count_in_log(site: Site, part: str, text: str) -> int:
    """Return how often a text is in the log of a part."""
    return site.stack.log(part).read_text(errors="replace").count(text)


@contextmanager
def damaged(site: Site, wires: Sequence[str], make: Callable[[], Damage]) -> Iterator[list[Damage]]:
    """Have these wires damaged for a block."""
    damages = []
    for name in wires:
        damage = make()
        damages.append(damage)
        site.wires[name].damage = damage
    try:
        yield damages
    finally:
        for name in wires:
            site.wires[name].heal()


def cut(*wires: str) -> Strike:
    """Cut the connections, several times."""

    def strike(site: Site, trial: Trial) -> int:
        hits = 0
        for _ in range(CUTS):
            hits += sum(site.wires[name].cut() for name in wires)
            time.sleep(trial.rng.uniform(0.1, 0.6))
        return hits

    return strike


def last(make: Callable[[], Damage], *wires: str, seconds: float = STOPPED_SECONDS) -> Strike:
    """Damage these wires for so long."""

    def strike(site: Site, _trial: Trial) -> int:
        with damaged(site, wires, make) as damages:
            time.sleep(seconds)
        # Of all hops at once some have nothing to say: who hears of no order posts no entry.
        return sum(damage.hits for damage in damages)

    return strike


def mute(*wires: str) -> Strike:
    """Let bytes vanish, while nobody hangs up."""
    return last(Mute, *wires)


def drip(*wires: str) -> Strike:
    """Let through 4 KB a second."""
    return last(partial(Drip, 4000), *wires)


def refuse(*wires: str) -> Strike:
    """Let nobody in."""
    return last(Refuse, *wires)


def lose_answers(wire: str, ask: Callable[[Trial], Wanted]) -> Strike:
    """Let the server do what it is asked, and lose its answers."""

    def strike(site: Site, trial: Trial) -> int:
        make = partial(LoseAnswer, ask(trial), limit=trial.rng.randint(1, 3))
        with damaged(site, [wire], make) as [damage]:
            until(lambda: damage.hits > 0, STRIKE_SECONDS)
            time.sleep(1)
        return damage.hits

    return strike


def about_the_run(trial: Trial) -> Wanted:
    """Return whether bytes name a message of this run."""
    prefix = f"{trial.run}-".encode()
    return lambda data: prefix in data


def kafka_request(api_key: int) -> Callable[[Trial], Wanted]:
    """Return whether bytes begin with a request of this kind."""
    wanted = api_key.to_bytes(2, "big")
    return lambda _trial: lambda data: data[4:6] == wanted


def anything(_trial: Trial) -> Wanted:
    """Return whether there are bytes."""
    return lambda _data: True


def answer_with_errors(site: Site, trial: Trial) -> int:
    """Let the audit receiver do what it is asked, and answer the service with an error."""
    answer = NOT_AVAILABLE % trial.rng.choice(HTTP_ERRORS)
    make = partial(LoseAnswer, about_the_run(trial), instead=answer, limit=3)
    with damaged(site, ["service-audit"], make) as [damage]:
        until(lambda: damage.hits > 0, STRIKE_SECONDS)
        time.sleep(1)
    return damage.hits


def refuse_role(role: str, wire: str) -> Strike:
    """Let Postgres answer that this role has too many connections, and end those it has."""

    def strike(site: Site, _trial: Trial) -> int:
        with (
            connect_as_admin(site.stack.env()) as admin,
            damaged(site, [wire], partial(Witness, b"C53300")) as [damage],
        ):
            admin.execute(f"alter role {role} connection limit 0".encode())
            admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where usename = %s", [role]
            )
            until(lambda: damage.hits > 0, STRIKE_SECONDS)
            time.sleep(1)
            admin.execute(f"alter role {role} connection limit -1".encode())
        return damage.hits

    return strike


def answer_with_kafka_error(wire: str, api_key: int, code: int) -> Strike:
    """Let the broker do what it is asked, and answer with an error."""

    def strike(site: Site, trial: Trial) -> int:
        make = partial(ChangeAnswer, api_key, code, limit=trial.rng.randint(1, 3))
        with damaged(site, [wire], make) as [damage]:
            until(lambda: damage.hits > 0, STRIKE_SECONDS)
            time.sleep(1)
        return damage.hits

    return strike
