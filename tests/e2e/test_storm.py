"""A storm: members of a group come, go and are killed faster than it can settle."""

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from signal import Signals

import pytest

from ops.stack.stack import Stack
from tests.client import exactly_one, until_handled
from tests.load import load
from tests.own_service import OwnService, make_topic, own_service

# Each of these is a minute; how often they hit a rebalance is luck, so they belong to `make prove`.
pytestmark = pytest.mark.prove
MEMBERS = 3
SECONDS = 60
STOP_SECONDS = 10


class Storm:
    """Services that are started, stopped and killed at random; how long each stop took."""

    def __init__(self, stack: Stack, topic: str, seed: int, *, static: bool) -> None:
        self.stack = stack
        self.topic = topic
        self.random = random.Random(seed)  # noqa: S311 - no secret
        self.static = static
        self.members: dict[int, OwnService] = {}
        self.processes = ExitStack()
        self.stops: list[float] = []
        self.kills = 0

    def start(self, number: int) -> None:
        """Start a member."""
        settings = {"GROUP_INSTANCE_ID": f"member-{number}"} if self.static else {}
        service = own_service(self.stack, self.topic, **settings)
        self.members[number] = self.processes.enter_context(service)

    def step(self) -> None:
        """Let one member come or go."""
        number = self.random.randrange(MEMBERS)
        member = self.members.pop(number, None)
        if member is None:
            self.start(number)
            if self.random.random() < 0.7:  # the others are stopped while they join
                self.members[number].until_logged('"event": "assigned"', 30)
        elif self.random.random() < 0.25:
            self.kills += 1
            member.process.kill()
        else:
            began = time.monotonic()
            member.process.send_signal(Signals.SIGTERM)
            member.until_ended(STOP_SECONDS + 5)
            self.stops.append(time.monotonic() - began)


@contextmanager
def storm(stack: Stack, topic: str, seed: int, *, static: bool) -> Iterator[Storm]:
    """Have a storm, and nothing of it afterwards."""
    own = Storm(stack, topic, seed, static=static)
    with own.processes:
        yield own


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("static", [False, True])
def test_in_a_storm_nothing_is_lost_and_every_stop_is_in_time(
    spoiled: Stack, seed: int, static: bool
) -> None:
    """With dynamic and with static members: each order has one effect, each stop ends in time."""
    topic = make_topic()
    with storm(spoiled, topic, seed, static=static) as own:
        own.start(0)
        ends_at = time.monotonic() + SECONDS
        with load(bursts=10_000, pause=0.2, topic=topic) as ids:
            while time.monotonic() < ends_at:
                own.step()
        if not own.members:
            own.start(0)
        until_handled(60, topic, topic)
    assert own.kills, "nobody was killed: this proved nothing"
    assert len(own.stops) > 5, "hardly anybody was stopped: this proved nothing"
    assert max(own.stops) < STOP_SECONDS + 1
    exactly_one(ids)
