"""W3C Trace Context: what goes on, and what is dropped."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.trace import MEMBERS, STATE_LIMIT, Trace, read_state, read_trace
from service.record import Headers, read
from service.write import rows
from tests.builders import record

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_a_good_trace_is_read() -> None:
    """Its ids, and whether somebody keeps its spans."""
    trace = read_trace([PARENT], ["a=1"])
    assert trace == Trace(PARENT, "a=1")
    assert trace.trace_id == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert trace.span_id == "00f067aa0ba902b7"
    assert trace.is_sampled
    assert not Trace(f"{PARENT[:-2]}02").is_sampled


def test_what_comes_of_another_span_is_in_the_same_trace() -> None:
    """Trace id, flags and state stay."""
    within = Trace(PARENT, "a=1").within("b" * 16)
    assert within == Trace(f"{PARENT[:36]}{'b' * 16}-01", "a=1")


@pytest.mark.parametrize(
    "parents",
    [
        [],
        [PARENT, PARENT],
        [""],
        ["00-zz"],
        [PARENT.upper()],
        [f"{PARENT}\n"],
        [f"{PARENT}-more"],
        [f"01{PARENT[2:]}"],
        [f"00-{'0' * 32}-00f067aa0ba902b7-01"],
        [f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01"],
    ],
)
def test_a_broken_trace_is_none(parents: list[str]) -> None:
    """Nor is its state: whoever cannot read the one may not hand on the other."""
    assert read_trace(parents, ["a=1"]) is None


@pytest.mark.parametrize(
    ("states", "read"),
    [
        (["a=1"], "a=1"),
        (["a=1,b=2", "c=3"], "a=1,b=2,c=3"),
        ([" a=1 ,\t, b=x y/z;"], "a=1,b=x y/z;"),
        (["tenant@system=1,0a*/-_=2"], "tenant@system=1,0a*/-_=2"),
        ([], ""),
        ([""], ""),
        (["a"], ""),
        (["a="], ""),
        (["A=1"], ""),
        (["a=1,b"], ""),
        (["a=1,a=2"], ""),
        (["a=1=2"], ""),
        (["a=ü"], ""),
        (["a=1\n"], ""),
        ([f"{'k' * 257}=1"], ""),
        ([f"a={'v' * 257}"], ""),
        (
            [",".join(f"k{n}=1" for n in range(MEMBERS))],
            ",".join(f"k{n}=1" for n in range(MEMBERS)),
        ),
        ([",".join(f"k{n}=1" for n in range(MEMBERS + 1))], ""),
    ],
)
def test_a_state_goes_on_whole_or_not_at_all(states: list[str], read: str) -> None:
    """Several headers are one list; one malformed member makes all of it malformed."""
    assert read_state(states) == read


def test_of_a_long_state_large_members_go_first_and_then_the_oldest() -> None:
    """Which is the last; what is left fits."""
    large = f"large={'v' * 200}"
    small = [f"k{n}={'v' * 90}" for n in range(6)]
    assert read_state([",".join([large, *small])]) == ",".join(small[:5])
    assert read_state([f"{large},a=1"]) == f"{large},a=1", "it fits"


@given(st.lists(st.text(max_size=600), max_size=4))
def test_no_state_is_more_than_a_header_may_have(states: list[str]) -> None:
    """Whatever was sent: at most 512 printable characters, and reading it again changes nothing."""
    read = read_state(states)
    assert len(read) <= STATE_LIMIT
    assert read.isascii()
    assert read_state([read]) == read


def test_what_is_written_of_a_record_is_in_its_trace() -> None:
    """A message and a dead letter alike; a row has no state where there is none."""
    headers: Headers = [("traceparent", PARENT.encode()), ("tracestate", b"a=1")]
    good, bad = record(headers=headers), record(of=b"{", headers=headers)
    plain = record("m-2")
    written = json.loads(rows([read(one) for one in (good, bad, plain)]))
    assert [row["is_message"] for row in written] == [True, False, True]
    for row in written[:2]:
        assert (row["traceparent"], row["tracestate"]) == (PARENT, "a=1")
    assert written[2]["traceparent"] != PARENT
    assert "tracestate" not in written[2]
