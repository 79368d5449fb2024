"""A collector on this machine: keeps the spans that it is sent by OTLP over HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ops.fault_proxy import Request, StubServer


class Seen(NamedTuple):
    """A span as it arrived."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    seconds: float
    attributes: dict[str, Any]


class SpanCollector:
    """Takes every span."""

    def __init__(self) -> None:
        self.spans: list[Seen] = []
        self.paths: set[str] = set()
        self.url = ""

    def handle(self, request: Request, body: bytes) -> None:
        """Keep what is in a request, and answer as a collector does."""
        self.paths.add(request.path)
        self.spans += read_spans(body)
        request.answer(200, b"", Content_Type="application/x-protobuf")

    def of_trace(self, trace_id: str) -> list[Seen]:
        """Return the spans of a trace so far."""
        return [span for span in self.spans if span.trace_id == trace_id]


def read_spans(body: bytes) -> Iterator[Seen]:
    """Yield the spans in a request."""
    for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        service = values(of_resource.resource.attributes)["service.name"]
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                yield Seen(
                    service,
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                    values(span.attributes),
                )


def values(attributes: Any) -> dict[str, Any]:
    """Return attributes by name."""
    found = {}
    for one in attributes:
        kind = one.value.WhichOneof("value")
        found[one.key] = getattr(one.value, kind)
    return found


@contextmanager
def collecting() -> Iterator[SpanCollector]:
    """Listen for spans."""
    collector = SpanCollector()
    with StubServer(collector.handle) as server:
        collector.url = server.url
        yield collector
