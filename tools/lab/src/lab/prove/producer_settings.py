"""The settings of a proof: those of the user's that bear on duplicates, and the control's."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.prove.job import TRANSACTIONAL
from ops.stack.supervisor import StackError
from pipeline_check.reading.block import Block, Setting
from pipeline_check.reading.read import read as read_file
from pipeline_check.reading.unreadable import UnreadableError

# Everything else (addresses, logins, sizes, serializers) is the proof's own, and changes nothing.
BEARING = {
    "enable.idempotence",
    "acks",
    "request.required.acks",
    "retries",
    "message.send.max.retries",
    "max.in.flight.requests.per.connection",
    "max.in.flight",
    "queuing.strategy",
    "enable.gapless.guarantee",
    "delivery.timeout.ms",
    "message.timeout.ms",
    "request.timeout.ms",
    "socket.timeout.ms",
    TRANSACTIONAL,
}
# Which of the clients that the auditor tells apart; a bare .properties is "java".
READ_BY = {
    "python": {"librdkafka", "java"},
    "java": {"java", "spring", "spark"},
}
# Where Connect keeps the settings of its producers; a connector's count more than a worker's.
PREFIXES = {
    "worker": "producer.",
    "connector": "producer.override.",
}
WAY_OUT = "write what they are into a .properties file, and prove that"
# With these set beside it, whatever comes from elsewhere decides how it connects, and no more.
DECISIVE = {"enable.idempotence", "acks", "max.in.flight.requests.per.connection"}


def read_settings(client: str, files: Sequence[Path]) -> dict[str, str]:
    """Return what these files set of one producer, as far as it bears on duplicates.

    A transactional id implies idempotence. For a connector it means nothing: Connect has its own.
    """
    try:
        blocks = [block for file in files for block in read_file(file)]
    except UnreadableError as failure:
        raise StackError(str(failure)) from None
    found = connect_settings(blocks) if client == "connect" else only_producer(client, blocks)
    bearing = {name: setting for name, setting in found.items() if name in BEARING}
    unknown = [f"{name} ({one.source})" for name, one in bearing.items() if not one.known]
    if unknown:
        raise StackError(f"nothing here says what is in {', '.join(sorted(unknown))}: {WAY_OUT}")
    settings = {name: setting.text for name, setting in bearing.items()}
    if TRANSACTIONAL in settings:
        settings.setdefault("enable.idempotence", "true")
    if client == "connect":
        settings.pop(TRANSACTIONAL, None)
    return settings


def only_producer(client: str, blocks: Sequence[Block]) -> Mapping[str, Setting]:
    """Return the settings of the only producer among the blocks."""
    producers = [block for block in blocks if block.kind == "producer"]
    fitting = [block for block in producers if block.client in READ_BY[client]]
    if len(fitting) != 1:
        places = "".join(f", {block.file}:{block.line}" for block in fitting)
        raise StackError(
            f"a proof is of one {client} producer, found were {len(fitting)}{places}: "
            "name another file"
        )
    [producer] = fitting
    is_decided = producer.settings.keys() >= DECISIVE
    if producer.opaque and not is_decided:
        raise StackError(
            f"{producer.file}:{producer.line}: more settings come from {producer.opaque}: {WAY_OUT}"
        )
    return producer.settings


def connect_settings(blocks: Sequence[Block]) -> Mapping[str, Setting]:
    """Return what workers and connectors say of the producers that Connect makes for them."""
    if not any(block.kind in PREFIXES for block in blocks):
        raise StackError(
            "no Connect worker and no connector found: "
            "name a worker's .properties or a connector's JSON"
        )
    found = {}
    for kind, prefix in PREFIXES.items():
        for block in blocks:
            if block.kind != kind:
                continue
            for name, setting in block.settings.items():
                if name.startswith(prefix):
                    found[name.removeprefix(prefix)] = setting
    return found


def control_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the same without transactions, and with idempotence switched off: Java has it."""
    control = dict(settings)
    control.pop(TRANSACTIONAL, None)
    control.pop("enable.gapless.guarantee", None)  # refused without idempotence
    control["enable.idempotence"] = "false"
    return control
