"""franz-go, the Go client that is idempotent unless it is told otherwise."""

from collections.abc import Mapping

from pipeline_check.clients.outcome import Outcome

IN_FLIGHT = "max.in.flight.requests.per.connection"
DEFAULTS = {"enable.idempotence": "true", "acks": "all"}
MOST_IN_FLIGHT = 1


def producer(settings: Mapping[str, str], _version: tuple[int, ...] = ()) -> Outcome:
    """Return what it makes of its options, here under the names of other clients."""
    values = DEFAULTS | dict(settings)
    idempotent = values["enable.idempotence"] == "true"
    outcome = Outcome(idempotent=idempotent, effective=values)
    if not idempotent:
        outcome.because = "DisableIdempotentWrite switches it off"
        if "transactional.id" in settings:
            outcome.refuse("TransactionalID needs idempotent writes", "enable.idempotence")
        return outcome
    if values["acks"] != "all":
        outcome.refuse("idempotent writes need RequiredAcks(AllISRAcks())", "acks")
    in_flight = values.get(IN_FLIGHT, "1")
    if in_flight.isdigit() and int(in_flight) > MOST_IN_FLIGHT:
        outcome.refuse(
            "idempotent writes allow one request under way for each broker", IN_FLIGHT, good="1"
        )
    return outcome
