"""sarama, the Go client: what its `Config.Validate` refuses, and what it does by default."""

from collections.abc import Mapping

from pipeline_check.clients.outcome import Outcome

IN_FLIGHT = "max.in.flight.requests.per.connection"
DEFAULTS = {"enable.idempotence": "false", "acks": "1", "retries": "3", IN_FLIGHT: "5"}


def producer(settings: Mapping[str, str], _version: tuple[int, ...] = ()) -> Outcome:
    """Return what it makes of its settings, here under the names of other clients."""
    values = DEFAULTS | dict(settings)
    idempotent = values["enable.idempotence"] == "true"
    outcome = Outcome(idempotent=idempotent, effective=values)
    if "transactional.id" in settings and not idempotent:
        outcome.refuse("Producer.Transaction.ID needs Producer.Idempotent", "enable.idempotence")
    if not idempotent:
        outcome.because = "Producer.Idempotent is false unless it is set"
        return outcome
    if values["acks"] != "all":
        outcome.refuse("Producer.Idempotent needs RequiredAcks = WaitForAll", "acks")
    if values["retries"] == "0":
        outcome.refuse("Producer.Idempotent needs Retry.Max of at least 1", "retries")
    if values[IN_FLIGHT] != "1":
        outcome.refuse("Producer.Idempotent needs Net.MaxOpenRequests = 1", IN_FLIGHT, good="1")
    return outcome
