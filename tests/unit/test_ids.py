"""Derived ids and traces."""

from uuid import uuid5

from hypothesis import given
from hypothesis import strategies as st

from contract.names import NAMESPACE
from contract.trace import Trace
from service.ids import derive, traceparent

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_derived_id_is_the_uuid5(source: str) -> None:
    """A derived id is the standard's uuid5 for every source."""
    assert derive("event", source) == str(uuid5(NAMESPACE, f"event/{source}"))


def test_a_trace_is_passed_on_and_never_missing() -> None:
    """A good traceparent is kept; without one it is derived from the event."""
    event_id = derive("event", "m-1")
    assert traceparent(Trace(TRACE), event_id) == TRACE
    assert len(traceparent(None, event_id)) == len(TRACE)
    assert traceparent(None, event_id).endswith("-00"), "nobody keeps its spans"
