"""One setting under its many names: where it stands in a block, and what to write instead of a bad value."""

from difflib import get_close_matches

from pipeline_check.clients.table import keys
from pipeline_check.fixes import paste
from pipeline_check.reading.block import Block

ON = {"enable.idempotence": "true", "acks": "all"}
GOOD = ON | {
    "retries": "2147483647",
    "max.in.flight.requests.per.connection": "5",
    "delivery.timeout.ms": "120000",
}
SYNONYMS = [
    ("enable.idempotence", "enable_idempotence"),
    ("acks", "request.required.acks"),
    ("retries", "message.send.max.retries"),
    ("delivery.timeout.ms", "message.timeout.ms", "delivery_timeout_ms"),
    ("linger.ms", "queue.buffering.max.ms", "linger_ms"),
    (
        "max.in.flight.requests.per.connection",
        "max.in.flight",
        "max_in_flight_requests_per_connection",
    ),
]


def remedy(block: Block, name: str) -> str:
    """What to write instead of a setting that was refused."""
    known = next((group[0] for group in SYNONYMS if name in group), name)
    if known in GOOD:
        return paste(block, {known: GOOD[known]})
    listed = keys("librdkafka" if block.client == "librdkafka" else "java")
    if known in listed and listed[known].default:
        return paste(block, {known: listed[known].default})
    close = get_close_matches(name, listed, 1)
    return f"remove {name}" + (
        f", or say {close[0]}" if close and close[0] not in block.settings else ""
    )


def line(block: Block, names: tuple[str, ...]) -> int:
    """Where the first of these settings stands, however it is spelt there; the block's own line if none does."""
    spelt = (variant for name in names for variant in variants(name))
    return next((block.settings[name].line for name in spelt if name in block.settings), block.line)


def variants(name: str) -> list[str]:
    """The names under which clients and Connect take the same setting."""
    prefixes = ("", "producer.override.", "worker:producer.")
    return [f"{prefix}{each}" for prefix in prefixes for each in (name, *same(name))]


def same(name: str) -> set[str]:
    """A setting's names in the clients that we know."""
    return {name, *next((group for group in SYNONYMS if name in group), ())}


def shown(name: str) -> str:
    """A setting as people call it."""
    return name.replace("worker:", "the worker's ")
