"""The producers that Connect makes for source connectors: what it puts in by itself, and who may change that."""

from collections.abc import Mapping

from pipeline_check.clients import java
from pipeline_check.clients.outcome import Outcome

OWN = {  # what the worker sets for every source connector, before anybody's settings
    "enable.idempotence": "false",
    "acks": "all",
    "max.in.flight.requests.per.connection": "1",
    "delivery.timeout.ms": "2147483647",
}
WORKER, OVERRIDE = "worker:producer.", "producer.override."
POLICY, ALLOWED = (
    "worker:connector.client.config.override.policy",
    "worker:connector.client.config.override.allowlist",
)
EXACTLY_ONCE = "worker:exactly.once.source.support"
PRINCIPAL = {"sasl.jaas.config", "sasl.mechanism", "security.protocol"}


def producer(settings: Mapping[str, str], version: java.Version = java.NEWEST) -> Outcome:
    """What becomes of the worker's settings, here called `worker:…`, and of a connector's."""
    worker = {
        name.removeprefix(WORKER): text
        for name, text in settings.items()
        if name.startswith(WORKER)
    }
    override = {
        name.removeprefix(OVERRIDE): text
        for name, text in settings.items()
        if name.startswith(OVERRIDE)
    }
    asked = OWN | worker | override
    exactly_once = settings.get(EXACTLY_ONCE, "disabled").lower() == "enabled"
    if exactly_once:
        asked |= {"enable.idempotence": "true", "transactional.id": "<group>-<connector>-<task>"}
    outcome = java.producer(asked, version)
    outcome.unknown = []
    for name in override:
        if not allowed(name, settings):
            policy = settings.get(POLICY, "All")
            outcome.refuse(
                f"the worker's override policy {policy} does not allow {OVERRIDE}{name}",
                OVERRIDE + name,
            )
    if exactly_once and (worker | override).get("enable.idempotence", "true").lower() == "false":
        outcome.change(
            "enable.idempotence false becomes true: exactly-once wants it", "enable.idempotence"
        )
    if not outcome.idempotent and "enable.idempotence" not in worker | override:
        outcome.because = "Connect silently sets enable.idempotence=false for source connectors unless told otherwise"
    return outcome


def allowed(name: str, settings: Mapping[str, str]) -> bool:
    """Whether the worker lets a connector change this setting of its producer."""
    policy = (
        settings.get(POLICY, "All")
        .rpartition(".")[2]
        .removesuffix("ConnectorClientConfigOverridePolicy")
    )
    if policy == "Allowlist":
        return name in settings.get(ALLOWED, "").replace(" ", "").split(",")
    return policy not in ("None", "Principal") or (policy == "Principal" and name in PRINCIPAL)
