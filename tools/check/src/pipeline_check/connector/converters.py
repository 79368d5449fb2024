"""Converters: what they make of a payload that is text already, of keys, and of headers."""

from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.rules.finding import Finding, Severity

STRING = "org.apache.kafka.connect.storage.StringConverter"
BYTES = (
    "io.debezium.converters.BinaryDataConverter",
    "org.apache.kafka.connect.converters.ByteArrayConverter",
)
QUOTES = "JsonConverter"


def converters(outbox: Outbox) -> Iterator[Finding]:
    """Key, value and headers arrive as they were written."""
    yield from value_converter(outbox)
    for key, severity, why in (
        (
            "key.converter",
            Severity.WARNING,
            "keys get quotes: without them the same key hashes to another partition",
        ),
        (
            "header.converter",
            Severity.WARNING,
            "header values get quotes, which readers compare with what has none",
        ),
    ):
        if (outbox.converter(key) or "").endswith(QUOTES):
            message = f"{key}={outbox.converter(key)}: {why}"
            yield outbox.finding(
                f"{key.split('.')[0]}-quoted", severity, key, message, f'"{key}": "{STRING}"'
            )


def value_converter(outbox: Outbox) -> Iterator[Finding]:
    """Text by StringConverter, bytes by one for bytes; an expanded payload or an envelope is another matter."""
    converter, name = (
        outbox.converter("value.converter"),
        outbox.router("table.field.event.payload", "payload") or "",
    )
    column = outbox.table.columns.get(name) if outbox.table else None
    right = BYTES[0] if column and column.type == "bytea" else STRING
    fix = f'"value.converter": "{right}"'
    if not converter:
        message = "not judged: value.converter, because neither the connector nor a worker beside it says which"
        yield outbox.finding(
            "value-converter-unknown", Severity.NOTE, "value.converter", message, fix
        )
    elif ":envelope" in (outbox.router("table.fields.additional.placement") or ""):
        return
    elif (
        converter.endswith(QUOTES)
        and outbox.router("table.expand.json.payload", "false") == "false"
    ):
        message = f"value.converter={converter}: a payload that is JSON already is written as one quoted string, which "
        fix_it = f"{message}readers have to parse twice"
        yield outbox.finding("value-quoted", Severity.ERROR, "value.converter", fix_it, fix)
    elif column and (converter in BYTES) != (column.type == "bytea"):
        message = f"value.converter={converter} for a payload of type {column.type}: it fails, or sends other bytes"
        yield outbox.finding("value-converter", Severity.ERROR, "value.converter", message, fix)
