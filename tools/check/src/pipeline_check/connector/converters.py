"""Converters and constant headers: what becomes of a payload, of keys, and of headers."""

import re
from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.rules.finding import Finding

STRING = "org.apache.kafka.connect.storage.StringConverter"
BINARY = "io.debezium.converters.BinaryDataConverter"
FOR_BYTES = (BINARY, "org.apache.kafka.connect.converters.ByteArrayConverter")
ADDS_QUOTES = "JsonConverter"
INSERT_HEADER = "org.apache.kafka.connect.transforms.InsertHeader"
# What Connect's Values.parseString turns into something else than the text: seen with 1.0, "1.0",
# true, null, dates.
PARSED = re.compile(
    r"""\s*(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|true|false|null|".*"|\[.*\]|\{.*\}"""
    r"""|\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d{4})?)?|\d\d:\d\d:\d\d(?:\.\d+)?Z?)\s*"""
)


def converters(outbox: Outbox) -> Iterator[Finding]:
    """Check that key, value and headers arrive as they were written."""
    yield from value_converter(outbox)
    key_converter = outbox.converter("key.converter") or ""
    if key_converter.endswith(ADDS_QUOTES):
        yield outbox.warning(
            "key-quoted",
            "key.converter",
            f"key.converter={key_converter}: keys get quotes: without them the same key hashes to "
            "another partition",
            f'"key.converter": "{STRING}"',
        )
    header_converter = outbox.converter("header.converter") or ""
    if header_converter.endswith(ADDS_QUOTES):
        yield outbox.warning(
            "header-quoted",
            "header.converter",
            f"header.converter={header_converter}: header values get quotes, which readers compare "
            "with what has none",
            f'"header.converter": "{STRING}"',
        )


def value_converter(outbox: Outbox) -> Iterator[Finding]:
    """Check that text goes through StringConverter, and bytes through a converter for bytes.

    An expanded payload and an envelope are another matter.
    """
    key = "value.converter"
    converter = outbox.converter(key)
    payload = outbox.router("table.field.event.payload", "payload") or ""
    column = outbox.table.columns.get(payload) if outbox.table else None
    is_bytes = column is not None and column.type == "bytea"
    is_envelope = ":envelope" in (outbox.router("table.fields.additional.placement") or "")
    is_expanded = outbox.router("table.expand.json.payload", "false") != "false"
    fix = f'"{key}": "{BINARY if is_bytes else STRING}"'
    if not converter:
        yield outbox.note(
            "value-converter-unknown",
            key,
            f"not judged: {key}, because neither the connector nor a worker beside it says which",
            fix,
        )
    elif is_envelope:
        return
    elif converter.endswith(ADDS_QUOTES) and not is_expanded:
        yield outbox.error(
            "value-quoted",
            key,
            f"{key}={converter}: a payload that is JSON already is written as one quoted string, "
            "which readers have to parse twice",
            fix,
        )
    elif column and (converter in FOR_BYTES) != is_bytes:
        yield outbox.error(
            "value-converter",
            key,
            f"{key}={converter} for a payload of type {column.type}: it fails, or sends other "
            "bytes",
            fix,
        )


def constant_headers(outbox: Outbox) -> Iterator[Finding]:
    """Check that the literal of a constant header arrives as it was written."""
    for name in outbox.transforms:
        if outbox.value(f"transforms.{name}.type") != INSERT_HEADER:
            continue
        key = f"transforms.{name}.value.literal"
        literal = outbox.value(key)
        header = outbox.value(f"transforms.{name}.header")
        if literal and PARSED.fullmatch(literal):
            yield outbox.error(
                "insert-header-parsed",
                key,
                f"{key}={literal} for header {header}: InsertHeader parses it and sends another "
                "text",
                "a column: specversion text not null default '1.0', placed as "
                f"specversion:header:{header or 'header'}",
            )
