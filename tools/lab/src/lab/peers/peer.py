"""A peer as an arm: its tables, its application and its relay, on a database of their own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from lab.environment import connect_as_admin
from lab.peers.feed import Feed
from lab.peers.live import Live
from lab.peers.place import has_moved, own_database, read_number, read_slots
from lab.peers.relay import Relay, program, worker
from ops.jars import Command
from ops.stack.stack import Stack

HERE = Path(__file__).parent
WRITER = "peer-writer"
Env = Mapping[str, str]


@dataclass(frozen=True)
class Peer:
    """What is in its folder, and how its database is asked."""

    folder: str
    topic: str
    written: str  # how many orders are in the database
    waiting: str = "select 0"  # and how many events; where the log is read, no table says so
    relay: Command = field(default_factory=list)  # a module; without one, a worker of Connect
    settings: Mapping[str, str] = field(default_factory=dict)  # in the environment of the relay


@contextmanager
def run_peer(peer: Peer, stack: Stack, python: Path, number: int) -> Iterator[Live]:
    """Run the application and the relay."""
    with own_database(stack) as known, Feed() as feed:
        env = {
            **known,
            **peer.settings,
            "TOPIC": peer.topic,
            "ORDERS_PORT": str(feed.port),
            "PYTHONPATH": str(HERE.parents[1]),
        }
        make_tables(peer, stack, env, python)
        relay = make_relay(peer, stack, env, python, number)
        try:
            relay.start()
            stack.supervisor.spawn(WRITER, module(python, f"lab.peers.{peer.folder}.writer"), env)
            feed.accept(stack.supervisor, WRITER)
            yield Live(
                env=env,
                send=feed.send,
                relay=relay,
                written=partial(read_number, env, peer.written),
                waiting=partial(read_number, env, peer.waiting),
                has_noted=partial(has_moved, env, read_slots(env)),
            )
        finally:
            stack.stop(WRITER)
            stack.stop(relay.name)


def make_tables(peer: Peer, stack: Stack, env: Env, python: Path) -> None:
    """Make the tables, from their file or by the peer's own library."""
    file = HERE / peer.folder / "tables.sql"
    if not file.exists():
        stack.run("peer-tables", module(python, f"lab.peers.{peer.folder}.tables"), env)
        return
    with connect_as_admin(dict(env), "DATABASE_URL") as admin:
        admin.execute(file.read_bytes())


def make_relay(peer: Peer, stack: Stack, env: Env, python: Path, number: int) -> Relay:
    """Return what publishes."""
    if peer.relay:
        return program(stack, env, module(python, *peer.relay))
    return worker(stack, env, HERE / peer.folder, number)


def module(python: Path, *words: str) -> Command:
    """Return the command of a module."""
    return [str(python), "-m", *words]
