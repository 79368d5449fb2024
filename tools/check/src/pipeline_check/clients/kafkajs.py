"""kafkajs: idempotent when it is asked for, with limits that show at the first send."""

from collections.abc import Mapping

from pipeline_check.clients.outcome import Outcome

DEFAULTS = {"enable.idempotence": "false", "acks": "all", "retries": "5"}
ENDLESS = "9007199254740991"


def producer(settings: Mapping[str, str], _version: tuple[int, ...] = ()) -> Outcome:
    """Return what it makes of its settings, here under the names of other clients.

    Sent in a transaction, records are idempotent without the switch.
    """
    values = DEFAULTS | dict(settings)
    asked = values["enable.idempotence"] == "true"
    idempotent = asked or "transactional.id" in settings
    if idempotent and "retries" not in settings:
        values["retries"] = ENDLESS
    outcome = Outcome(idempotent=idempotent, effective=values)
    if not idempotent:
        outcome.because = "idempotent is false in kafkajs unless it is set"
        return outcome
    if values["acks"] != "all":
        outcome.refuse("an idempotent producer must not be asked for other acks than -1", "acks")
    if values["retries"] == "0":
        outcome.refuse("an idempotent producer must allow retries", "retries")
    return outcome
