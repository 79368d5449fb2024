"""An arm at work, as every measurement sees it."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from contract.samples import Sample
from lab.peers.relay import Relay


class Live(NamedTuple):
    """How an arm gets orders, what publishes them, and what its database says of them."""

    env: Mapping[str, str]  # where its database is
    send: Callable[[Sample], None]
    relay: Relay
    written: Callable[[], int]  # orders
    waiting: Callable[[], int]  # of them, those that it knows to be unpublished
    has_noted: Callable[[], bool]  # whether the relay has stored how far it is, if it does so
