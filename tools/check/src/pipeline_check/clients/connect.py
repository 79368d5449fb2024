"""The producers that Connect makes for source connectors: what it sets, and who may change that."""

from collections.abc import Mapping

from pipeline_check.clients import java
from pipeline_check.clients.outcome import Outcome

OWN = {  # what the worker sets for every source connector, before anybody's settings
    "enable.idempotence": "false",
    "acks": "all",
    "max.in.flight.requests.per.connection": "1",
    "delivery.timeout.ms": "2147483647",
}
WORKER = "worker:producer."
OVERRIDE = "producer.override."
POLICY = "worker:connector.client.config.override.policy"
ALLOWED = "worker:connector.client.config.override.allowlist"
EXACTLY_ONCE = "worker:exactly.once.source.support"
PRINCIPAL = {"sasl.jaas.config", "sasl.mechanism", "security.protocol"}
POLICY_ALL_SINCE: java.Version = (3,)
EXACTLY_ONCE_SINCE: java.Version = (3, 3)
SILENTLY_OFF = (
    "Connect silently sets enable.idempotence=false for source connectors unless told otherwise"
)


def producer(settings: Mapping[str, str], version: java.Version = java.NEWEST) -> Outcome:
    """Return what becomes of a connector's settings and its worker's, here called `worker:…`."""
    worker = with_prefix(settings, WORKER)
    override = with_prefix(settings, OVERRIDE)
    written = worker | override
    has_exactly_once = version >= EXACTLY_ONCE_SINCE
    asks_for_it = settings.get(EXACTLY_ONCE, "disabled").lower() == "enabled"
    exactly_once = asks_for_it and has_exactly_once
    asked = OWN | written
    if exactly_once:
        asked["enable.idempotence"] = "true"
        asked["transactional.id"] = "<group>-<connector>-<task>"
    outcome = java.producer(asked, version)
    outcome.unknown = []
    policy = settings.get(POLICY, default_policy(version))
    refuse_overrides(outcome, override, dict(settings) | {POLICY: policy})
    if exactly_once and written.get("enable.idempotence", "true").lower() == "false":
        says = "enable.idempotence false becomes true: exactly-once wants it"
        outcome.change(says, "enable.idempotence")
    if not outcome.idempotent and "enable.idempotence" not in written:
        outcome.because = SILENTLY_OFF
        if asks_for_it:
            outcome.because += ", and exactly.once.source.support is not read before Kafka 3.3"
    return outcome


def default_policy(version: java.Version) -> str:
    """Return what connectors may override where the worker does not say."""
    return "All" if version >= POLICY_ALL_SINCE else "None"


def with_prefix(settings: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the settings with a prefix, under their names without it."""
    return {
        name.removeprefix(prefix): text
        for name, text in settings.items()
        if name.startswith(prefix)
    }


def refuse_overrides(
    outcome: Outcome, override: Mapping[str, str], settings: Mapping[str, str]
) -> None:
    """Note the connector's settings that its worker does not allow."""
    policy = settings.get(POLICY, "All")
    for name in override:
        if not is_allowed(name, settings):
            key = OVERRIDE + name
            outcome.refuse(f"the worker's override policy {policy} does not allow {key}", key)


def is_allowed(name: str, settings: Mapping[str, str]) -> bool:
    """Return whether the worker lets a connector change this setting of its producer."""
    class_name = settings.get(POLICY, "All").rpartition(".")[2]
    policy = class_name.removesuffix("ConnectorClientConfigOverridePolicy")
    if policy == "Allowlist":
        return name in settings.get(ALLOWED, "").replace(" ", "").split(",")
    if policy == "Principal":
        return name in PRINCIPAL
    return policy != "None"
