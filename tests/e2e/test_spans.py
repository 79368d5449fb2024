"""One trace from the producer to the landed rows, as a collector on this machine sees it."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from contract.events import ACCEPTED, EVENTS
from contract.names import AUDIT_TOPIC, INPUT_TOPIC, SUBSCRIBER
from contract.trace import Trace, make_trace
from ops.stack.stack import Stack
from ops.trace.lake import query as query_lake
from service.ids import derive, span_id_of
from tests.builders import value
from tests.client import Headers, Sent, exactly_one, fresh, of, send, until, until_published
from tests.e2e.span_collector import Seen, SpanCollector, collecting
from tests.stacks import within

[EVENT_TOPIC] = [event.topic for event in EVENTS if event.outcome == ACCEPTED]
STATE = r'vendor="of the \producer",other=1'
UNSAMPLED = f"00-{'4b' * 16}-{'5c' * 8}-00"
BROKEN = "00-zz"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
NOBODY = "http://127.0.0.1:1"
PARTS = ("audit", "service")


class Traced(NamedTuple):
    """Messages with traces of every kind, the spans of their way, and the lake to which it led."""

    trace: Trace  # the one that the producer has sampled
    sampled: str
    unsampled: str
    broken: str
    without: str
    collector: SpanCollector
    lake: Path


def land(stack: Stack, lake: Path, env: dict[str, str]) -> str:
    """Land what is there now; return what the job said."""
    done = subprocess.run(
        [sys.executable, "-m", "spark.land", "--once"],
        env={**stack.env(), "DELTA_ROOT": str(lake), **env},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def lake(spoiled_stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake in which all that others have left has landed, once for this file."""
    found = tmp_path_factory.mktemp("spans") / "lake"
    land(spoiled_stack, found, {})
    return found


@pytest.fixture(scope="module")
def traced(lake: Path, spoiled_stack: Stack) -> Iterator[Traced]:
    """Handle and land messages with processes that send spans.

    Once for this file: each landing is a process of Spark's.
    """
    trace = Trace(make_trace(random.Random()), STATE)  # noqa: S311 - not secret
    with pytest.MonkeyPatch.context() as patch, collecting() as collector:
        stack = within(spoiled_stack, patch)
        with sending_spans(stack, collector.url):
            sampled = send_one([("traceparent", trace.parent), ("tracestate", trace.state)])
            unsampled = send_one([("traceparent", UNSAMPLED)])
            broken = send_one([("traceparent", BROKEN)])
            without = send_one([])
            exactly_one([sampled, unsampled, broken, without])
            land(stack, lake, {ENDPOINT: collector.url})
            yield Traced(trace, sampled, unsampled, broken, without, collector, lake)


@contextmanager
def sending_spans(stack: Stack, endpoint: str) -> Iterator[None]:
    """Let the service and the audit receiver send spans there."""
    try:
        for part in PARTS:
            stack.start(part, env={ENDPOINT: endpoint})
        yield
    finally:
        for part in PARTS:
            stack.start(part)


def send_one(headers: Headers) -> str:
    """Send a good order with these headers, and wait until its event and its entry are out."""
    message_id, order_id = fresh("m"), fresh("o")
    send([Sent(message_id, order_id, value(order_id), headers)])
    until_published(EVENT_TOPIC, of(message_id), 1)
    until_published(AUDIT_TOPIC, of(message_id), 1)
    return message_id


def read_landed(lake: Path, topic: str, message_id: str) -> dict[str, bytes]:
    """Return the headers of the landed row of a message."""
    for row in query_lake(f"{lake}/landed/{topic}", "landed", "select * from landed") or []:
        headers = {one["key"]: one["value"] for one in row["headers"]}
        is_record = headers.get("message_id") == message_id.encode()
        if is_record or json.loads(row["value"]).get("message_id") == message_id:
            return headers
    raise AssertionError(f"{message_id} has not landed from {topic}")


def until_seen(collector: SpanCollector, trace_id: str, names: Set[str]) -> dict[str, Seen]:
    """Wait for the spans of a trace that have these names; return all of it by their names."""
    spans = until(
        lambda: collector.of_trace(trace_id),
        lambda found: names <= {span.name for span in found},
        30,
        f"{names} of trace {trace_id}",
    )
    by_name = {span.name: span for span in spans}
    assert len(spans) == len(by_name)
    return by_name


def test_one_trace_leads_from_the_producer_to_the_landed_rows(traced: Traced) -> None:
    """Each span has the producer's trace id, and its parent is the span that caused it."""
    sent, message_id = traced.trace, traced.sampled
    handling = span_id_of(derive("event", message_id))
    recording = span_id_of(derive("audit-entry", derive("audit", message_id)))
    caused_by = {
        f"process {INPUT_TOPIC}": (SUBSCRIBER, sent.span_id),
        "record audit entry": ("audit", handling),
        f"land {INPUT_TOPIC}": ("land", sent.span_id),
        f"land {EVENT_TOPIC}": ("land", handling),
        f"land {AUDIT_TOPIC}": ("land", recording),
    }
    further = [event.topic for event in EVENTS if event.follows == ACCEPTED]
    caused_by |= {f"land {topic}": ("land", handling) for topic in further}
    spans = until_seen(traced.collector, sent.trace_id, caused_by.keys())
    parents = {name: (span.service, span.parent_id) for name, span in spans.items()}
    assert parents == caused_by
    assert spans[f"process {INPUT_TOPIC}"].span_id == handling
    assert spans["record audit entry"].span_id == recording
    assert spans[f"process {INPUT_TOPIC}"].attributes["outcome"] == ACCEPTED
    assert all(0 <= span.seconds < 600 for span in spans.values())
    assert traced.collector.paths == {"/v1/traces"}

    # The landed rows say the same to whoever reads them.
    expected = {INPUT_TOPIC: sent.span_id, EVENT_TOPIC: handling, AUDIT_TOPIC: recording}
    for topic, span_id in expected.items():
        landed = read_landed(traced.lake, topic, message_id)
        assert landed["traceparent"] == sent.within(span_id).parent.encode(), topic
        assert landed["tracestate"] == STATE.encode(), topic


def test_control_what_nobody_has_sampled_has_no_spans(traced: Traced) -> None:
    """An unsampled trace goes on unchanged; a broken one is another; none of them is exported."""
    all_parts = {f"process {INPUT_TOPIC}", "record audit entry", f"land {AUDIT_TOPIC}"}
    until_seen(traced.collector, traced.trace.trace_id, all_parts)
    assert {span.trace_id for span in traced.collector.spans} == {traced.trace.trace_id}
    for topic in (EVENT_TOPIC, AUDIT_TOPIC):
        unsampled, broken, without = (
            read_landed(traced.lake, topic, message_id)
            for message_id in (traced.unsampled, traced.broken, traced.without)
        )
        assert unsampled["traceparent"] == UNSAMPLED.encode()
        traces = {trace_of(headers) for headers in (unsampled, broken, without)}
        assert len(traces) == 3
        assert {headers["tracestate"] for headers in (unsampled, broken, without)} == {b""}


def trace_of(headers: dict[str, bytes]) -> str:
    """Return the trace id in the headers of a landed row."""
    return Trace(headers["traceparent"].decode()).trace_id


@pytest.mark.prove
def test_a_collector_that_does_not_answer_costs_spans_and_nothing_else(
    lake: Path, spoiled: Stack
) -> None:
    """Every message is handled, audited and landed; the log says how many spans were dropped."""
    trace = make_trace(random.Random())  # noqa: S311 - not secret
    with sending_spans(spoiled, NOBODY):
        message_id = send_one([("traceparent", trace)])
        exactly_one([message_id])
        said = land(spoiled, lake, {ENDPOINT: NOBODY})
        assert read_landed(lake, EVENT_TOPIC, message_id)
        assert "spans were dropped" in said
        for part in PARTS:
            log = spoiled.log(part)
            until(log.read_text, lambda text: "spans_dropped" in text, 30, f"{part} says nothing")
