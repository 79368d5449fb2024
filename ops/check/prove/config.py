"""Which settings a proof runs with: what the user set of those that bear on duplicates, and the control's."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ops.stack.supervisor import StackError

# Everything else (addresses, logins, sizes, serializers) is the proof's own: it changes nothing of what is proved.
BEARING = {
    *("enable.idempotence", "acks", "request.required.acks", "retries", "message.send.max.retries"),
    *("max.in.flight.requests.per.connection", "max.in.flight", "queuing.strategy", "enable.gapless.guarantee"),
    *("delivery.timeout.ms", "message.timeout.ms", "request.timeout.ms", "socket.timeout.ms", "transactional.id"),
}
PREFIXES = ("spring.kafka.producer.properties.", "producer.override.", "producer.")  # Connect's, Spring's
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


def read(files: Sequence[Path]) -> dict[str, str]:
    """The bearing settings of these `key=value` files; of two, the later counts."""
    found: dict[str, str] = {}
    for file in files:
        found |= bearing(properties(file))
    if files and not found:
        raise StackError(f"{', '.join(map(str, files))}: no setting of a producer in it; known are {sorted(BEARING)}")
    return without_transactions(found)


def properties(file: Path) -> dict[str, str]:
    """A file of lines `key=value`, as Java and Connect read them."""
    try:
        lines = [line.strip() for line in file.read_text().splitlines()]
    except (OSError, UnicodeError) as failure:
        raise StackError(f"{file} cannot be read: {failure}") from None
    pairs = (line.partition("=") for line in lines if line and line[0] not in "#!")
    return {key.strip(): value.strip() for key, _, value in pairs}


def bearing(settings: Mapping[str, str]) -> dict[str, str]:
    """Those that bear on duplicates, without the prefix under which a framework keeps them."""
    found = {}
    for key, value in settings.items():
        prefix = next((prefix for prefix in PREFIXES if key.startswith(prefix)), "")
        if key.removeprefix(prefix) in BEARING:
            found[key.removeprefix(prefix)] = value
    return found


def without_transactions(settings: dict[str, str]) -> dict[str, str]:
    """A transactional id implies idempotence; of that alone is the proof, several producers cannot share one id."""
    if settings.pop("transactional.id", None):
        settings.setdefault("enable.idempotence", "true")
    return settings


def control(settings: Mapping[str, str]) -> dict[str, str]:
    """The same without idempotence: said aloud, because Java's default is to have it."""
    rest = {key: value for key, value in settings.items() if key != "enable.gapless.guarantee"}  # refused without
    return rest | {"enable.idempotence": "false"}
