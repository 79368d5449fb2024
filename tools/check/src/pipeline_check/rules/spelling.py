"""One setting and its many names: clients and Connect spell the same setting differently."""

from pipeline_check.reading.block import Block

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
PREFIXES = ("", "producer.override.", "worker:producer.")


def synonyms(name: str) -> set[str]:
    """Return the names of a setting in all clients that have rules."""
    for group in SYNONYMS:
        if name in group:
            return {name, *group}
    return {name}


def variants(name: str) -> list[str]:
    """Return the names under which clients and Connect take the same setting."""
    names = [name, *synonyms(name)]
    return [f"{prefix}{each}" for prefix in PREFIXES for each in names]


def line_of_first(block: Block, names: tuple[str, ...]) -> int:
    """Return the line of the first of these settings in any spelling, or else the block's line."""
    for name in names:
        for variant in variants(name):
            if variant in block.settings:
                return block.settings[variant].line
    return block.line


def display_name(name: str) -> str:
    """Return a setting's name as people say it."""
    return name.replace("worker:", "the worker's ")
