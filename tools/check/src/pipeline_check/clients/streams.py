"""The producers of Kafka Streams: Java's, with what Streams sets for its guarantee."""

from collections.abc import Mapping

from pipeline_check.clients import java
from pipeline_check.clients.outcome import Outcome

GUARANTEE = "processing.guarantee"
EXACTLY_ONCE = "exactly_once_v2"
OLD_NAMES = {"exactly_once", "exactly_once_beta"}
GONE_SINCE: java.Version = (4,)
PRODUCER = "producer."
OWN = {"linger.ms": "100"}
EOS = {
    "enable.idempotence": "true",
    "delivery.timeout.ms": "2147483647",
    "transactional.id": "<application>-<process>-<thread>",
}
FORCED = ("enable.idempotence", "transactional.id")


def producer(settings: Mapping[str, str], version: java.Version = java.NEWEST) -> Outcome:
    """Return what Streams makes of its settings; those of its producers may have a prefix."""
    prefixed = {
        name.removeprefix(PRODUCER): text
        for name, text in settings.items()
        if name.startswith(PRODUCER)
    }
    plain = {name: text for name, text in settings.items() if not name.startswith(PRODUCER)}
    written = plain | prefixed
    guarantee = written.pop(GUARANTEE, "at_least_once")
    asked = OWN | written
    if is_exactly_once(guarantee):
        asked = OWN | EOS | written | {name: EOS[name] for name in FORCED}
    outcome = java.producer(asked, version)
    outcome.unknown = []
    if guarantee in OLD_NAMES and version >= GONE_SINCE:
        outcome.refuse(f"{GUARANTEE}={guarantee} is gone since 4.0", GUARANTEE, good=EXACTLY_ONCE)
    if is_exactly_once(guarantee) and written.get("enable.idempotence", "true") == "false":
        outcome.change(
            "enable.idempotence false becomes true: exactly-once wants it", "enable.idempotence"
        )
    return outcome


def is_exactly_once(guarantee: str) -> bool:
    """Return whether what is read, kept and written is one transaction."""
    return guarantee == EXACTLY_ONCE or guarantee in OLD_NAMES
