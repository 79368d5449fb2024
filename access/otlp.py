"""Spans as OpenTelemetry's exporter sends them. It is imported only when a collector is set."""

import logging
from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags

from access.collector import Export, Span

SCOPE = InstrumentationScope("outbox-pipeline")
SAMPLED = TraceFlags(TraceFlags.SAMPLED)


def make_export(service_name: str) -> Export:
    """Return how spans are sent; where to, and as whom, the exporter reads in the environment."""
    # It would write a line for each attempt; what is dropped is told elsewhere, once a minute.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
    exporter = OTLPSpanExporter()
    resource = Resource.create({SERVICE_NAME: service_name})

    def export(spans: Sequence[Span]) -> bool:
        readable = [make_readable(span, resource) for span in spans]
        return exporter.export(readable) is SpanExportResult.SUCCESS

    return export


def make_readable(span: Span, resource: Resource) -> ReadableSpan:
    """Return a span as the exporter reads it."""
    return ReadableSpan(
        span.name,
        context=make_context(span.trace_id, span.span_id, is_remote=False),
        parent=make_context(span.trace_id, span.parent_id, is_remote=True),
        kind=SpanKind[span.kind.upper()],
        resource=resource,
        instrumentation_scope=SCOPE,
        attributes=span.attributes,
        start_time=span.begun,
        end_time=span.ended,
    )


def make_context(trace_id: str, span_id: str, *, is_remote: bool) -> SpanContext:
    """Return where a span is."""
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote, SAMPLED)
