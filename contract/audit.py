"""What the audit receiver is sent about one message."""

from typing import Annotated

from pydantic import AfterValidator, StringConstraints
from typing_extensions import TypedDict

from contract.events import EVENTS
from contract.strict_json import Id

OUTCOMES = sorted(event.outcome for event in EVENTS if event.outcome)

UUID_PATTERN = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"


def known_outcome(outcome: str) -> str:
    """Return this outcome if the contract has an event for it."""
    if outcome not in OUTCOMES:
        known = ", ".join(OUTCOMES)
        raise ValueError(f"should be one of {known}")
    return outcome


class AuditBody(TypedDict):
    """What happened to one message; the last two are null unless it was accepted."""

    message_id: Id
    order_id: Id
    outcome: Annotated[str, AfterValidator(known_outcome)]
    fulfillment_id: Annotated[str, StringConstraints(pattern=UUID_PATTERN)] | None
    total: (
        Annotated[str, StringConstraints(max_length=40, pattern=r"^[0-9]{1,30}(\.[0-9]{1,2})?$")]
        | None
    )
