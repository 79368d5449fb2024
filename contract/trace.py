"""W3C Trace Context: in whose trace a record or a request is, as two headers say it.

A message without a good trace is a good message, so nothing here refuses anything.
"""

import re
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

PARENT_HEADER = "traceparent"
STATE_HEADER = "tracestate"

PARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
# One system's entry: its key, and printable characters but comma and equals sign.
MEMBER = re.compile(r"(?P<key>[a-z0-9][a-z0-9_*/@-]{0,255})=[ -+\--<>-~]{0,255}[!-+\--<>-~]")
MEMBERS = 32
STATE_LIMIT = 512  # characters
LARGE = 128  # characters; the standard lets a larger member go first


class Trace(NamedTuple):
    """A place in a trace: the span that something comes of, and what other systems add to it."""

    parent: str  # the header traceparent, and a valid one
    state: str = ""  # the header tracestate; nothing if there is none

    @property
    def trace_id(self) -> str:
        """Return the id that all spans of the trace have."""
        return self.parent[3:35]

    @property
    def span_id(self) -> str:
        """Return the id of the span that this comes of."""
        return self.parent[36:52]

    @property
    def is_sampled(self) -> bool:
        """Return whether somebody keeps the spans of this trace."""
        flags = int(self.parent[53:], 16)
        return bool(flags & 1)

    def within(self, span_id: str) -> "Trace":
        """Return the same trace for what comes of another span in it."""
        flags = self.parent[53:]
        return Trace(f"00-{self.trace_id}-{span_id}-{flags}", self.state)


def make_trace(rng: Random) -> str:
    """Make a header traceparent that is sampled; an id of zeros alone would not be valid."""
    trace_id = rng.getrandbits(128) | 1
    span_id = rng.getrandbits(64) | 1
    return f"00-{trace_id:032x}-{span_id:016x}-01"


def read_trace(parents: Sequence[str], states: Sequence[str] = ()) -> Trace | None:
    """Return the trace in all headers of these two names; None if it is broken, or given twice."""
    if len(parents) != 1 or not PARENT.fullmatch(parents[0]):
        return None
    return Trace(parents[0], read_state(states))


def read_state(states: Sequence[str]) -> str:
    """Return the state in these headers, in its bounds; nothing if a member of it is malformed."""
    members = [member.strip(" \t") for state in states for member in state.split(",")]
    members = [member for member in members if member]  # the standard allows empty ones
    if len(members) > MEMBERS:
        return ""
    found = [MEMBER.fullmatch(member) for member in members]
    keys = {one["key"] for one in found if one}
    each_has_its_own_key = len(keys) == len(members)
    return shorten(members) if each_has_its_own_key else ""


def shorten(members: list[str]) -> str:
    """Return the members that fit: large ones go first, then the last, which is the oldest."""
    large = [member for member in members if len(member) > LARGE]
    others = [member for member in members if len(member) <= LARGE]
    last_to_first_to_go = [*others, *large]
    kept = list(members)
    while len(state := ",".join(kept)) > STATE_LIMIT:
        goes = last_to_first_to_go.pop()
        kept.remove(goes)
    return state
