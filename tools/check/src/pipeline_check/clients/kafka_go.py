"""segmentio's kafka-go, which has no idempotent producer."""

from collections.abc import Mapping

from pipeline_check.clients.outcome import Outcome

WAY_OUT = "no setting of this client helps: move to franz-go, which is idempotent by default"


def producer(settings: Mapping[str, str], _version: tuple[int, ...] = ()) -> Outcome:
    """Return what its writer does: up to ten attempts, each of which may write again."""
    values = {"acks": "all", "retries": "10"} | dict(settings)
    return Outcome(
        idempotent=False,
        effective=values,
        because="kafka-go has no idempotent producer",
        way_out=WAY_OUT,
    )
