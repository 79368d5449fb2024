"""Constant headers: InsertHeader parses its literal, and sends what it has understood."""

import re
from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.rules.finding import Finding, Severity

INSERT = "org.apache.kafka.connect.transforms.InsertHeader"
# What Connect's Values.parseString makes into something else than the text: seen with 1.0, "1.0", true, null, dates.
PARSED = re.compile(
    r"""\s*(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|true|false|null|".*"|\[.*\]|\{.*\}"""
    r"""|\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d{4})?)?|\d\d:\d\d:\d\d(?:\.\d+)?Z?)\s*"""
)


def constant_headers(outbox: Outbox) -> Iterator[Finding]:
    """A literal arrives as it was written."""
    for name in outbox.transforms:
        key = f"transforms.{name}.value.literal"
        literal, header = outbox.value(key), outbox.value(f"transforms.{name}.header")
        if (
            outbox.value(f"transforms.{name}.type") == INSERT
            and literal
            and PARSED.fullmatch(literal)
        ):
            message = f"{key}={literal} for header {header}: InsertHeader parses it and sends another text"
            alias = header or "header"
            fix = f"a column: specversion text not null default '1.0', placed as specversion:header:{alias}"
            yield outbox.finding("insert-header-parsed", Severity.ERROR, key, message, fix)
