"""Which settings a proof runs with: what the user set of those that bear on duplicates, and the control's."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ops.stack.supervisor import StackError
from pipeline_check.reading.block import Block, Setting
from pipeline_check.reading.read import read as read_file
from pipeline_check.reading.unreadable import UnreadableError

# Everything else (addresses, logins, sizes, serializers) is the proof's own: it changes nothing of what is proved.
BEARING = {
    *("enable.idempotence", "acks", "request.required.acks", "retries", "message.send.max.retries"),
    *(
        "max.in.flight.requests.per.connection",
        "max.in.flight",
        "queuing.strategy",
        "enable.gapless.guarantee",
    ),
    *(
        "delivery.timeout.ms",
        "message.timeout.ms",
        "request.timeout.ms",
        "socket.timeout.ms",
        "transactional.id",
    ),
}
READ_BY = {
    "python": {"librdkafka", "java"},
    "java": {"java", "spring", "spark"},
}  # a bare .properties is "java"
PREFIXES = {
    "worker": "producer.",
    "connector": "producer.override.",
}  # where Connect keeps them; the later counts
SAY_ALL = "write what they are into a .properties file, and prove that"
# Lost connections come by the hundred: do not wait long before the next.
BACK_OFF = {
    "retry.backoff.ms": "10",
    "retry.backoff.max.ms": "50",
    "reconnect.backoff.ms": "10",
    "reconnect.backoff.max.ms": "50",
}


class Job(NamedTuple):
    """What a client is asked to do: send the numbers below `messages`, `together` at most in one request."""

    bootstrap: str  # the proxy
    settings: Mapping[str, str]
    topic: str
    messages: int
    together: int


def read(client: str, files: Sequence[Path]) -> dict[str, str]:
    """What these files set of one producer, as far as it bears on duplicates.

    A transactional id stands for the idempotence that it implies: several producers cannot share one.
    """
    try:
        blocks = [block for file in files for block in read_file(file)]
    except UnreadableError as failure:
        raise StackError(str(failure)) from None
    found = connects(blocks) if client == "connect" else the_one(client, blocks)
    if unseen := [
        f"{name} ({found[name].source})" for name in BEARING & found.keys() if not found[name].known
    ]:
        raise StackError(f"nothing here says what is in {', '.join(unseen)}: {SAY_ALL}")
    settings = {name: found[name].text for name in found if name in BEARING}
    implied = {"enable.idempotence": "true"} if settings.pop("transactional.id", None) else {}
    return implied | settings


def the_one(client: str, blocks: Sequence[Block]) -> Mapping[str, Setting]:
    """The settings of the only producer among the blocks."""
    fitting = [
        block for block in blocks if block.kind == "producer" and block.client in READ_BY[client]
    ]
    if len(fitting) != 1:
        places = "".join(f", {block.file}:{block.line}" for block in fitting)
        raise StackError(
            f"a proof is of one {client} producer, found were {len(fitting)}{places}: name another file"
        )
    if more := fitting[0].opaque:
        raise StackError(
            f"{fitting[0].file}:{fitting[0].line}: more settings come from {more}: {SAY_ALL}"
        )
    return fitting[0].settings


def connects(blocks: Sequence[Block]) -> Mapping[str, Setting]:
    """What a worker, a connector or both say of the producers that Connect makes for them."""
    if not any(block.kind in PREFIXES for block in blocks):
        raise StackError(
            "no Connect worker and no connector found: name a worker's .properties or a connector's JSON"
        )
    return {
        name.removeprefix(prefix): setting
        for kind, prefix in PREFIXES.items()
        for block in blocks
        for name, setting in (block.settings.items() if block.kind == kind else ())
        if name.startswith(prefix)
    }


def control(settings: Mapping[str, str]) -> dict[str, str]:
    """The same without idempotence: said aloud, because Java's default is to have it."""
    rest = {
        key: value for key, value in settings.items() if key != "enable.gapless.guarantee"
    }  # refused without
    return rest | {"enable.idempotence": "false"}
