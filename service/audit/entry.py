"""The contract of a request: the idempotency key, the body of one audit entry, and the answer that both make."""

import json
import re
from hashlib import sha256
from http import HTTPStatus
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import StringConstraints, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from contract.strict_json import Id, describe
from service.ids import derive

Answer = tuple[int, dict[str, Any]]  # status and document

KEY_HEADER = re.compile(
    r'"([!#-\[\]-~]{1,128})"'
)  # a structured-field String: the draft wants the quotes


class Body(TypedDict):
    """What happened to one message."""

    message_id: Id
    order_id: Id
    outcome: Literal["fulfilled", "rejected"]
    fulfillment_id: (
        Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
        | None
    )
    total: (
        Annotated[str, StringConstraints(max_length=40, pattern=r"^[0-9]{1,30}(\.[0-9]{1,2})?$")]
        | None
    )


class Given(TypedDict):
    """One entry as it comes: the key from the header, or both from one item of a batch."""

    idempotency_key: Annotated[str, StringConstraints(pattern=r"^[!#-\[\]-~]{1,128}$")]
    body: Body


class Entry(NamedTuple):
    """What is kept of a request: key, body, and the answer, which is the event too; a pure function of the two."""

    idempotency_key: str
    body: Body
    answer: dict[
        str, Any
    ]  # with the hash of the canonical body: the same key with another one is a 422


GIVEN = TypeAdapter(Given)


def check(key: Any, body: Any) -> Entry | Answer:
    """The entry, or the problem that is its answer."""
    try:
        checked = GIVEN.validate_python(
            {"idempotency_key": key, "body": body}, strict=True, extra="forbid"
        )["body"]
    except ValidationError as error:
        return problem(400, describe(error).removeprefix("body."))
    if (checked["outcome"] == "fulfilled") != (checked["fulfillment_id"] is not None):
        return problem(400, "fulfillment_id: belongs to outcome fulfilled, and to no other")
    canonical = json.dumps(checked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    ids = {"audit_entry_id": derive("audit-entry", key), "idempotency_key": key}
    told = {name: checked[name] for name in ("message_id", "order_id", "outcome")}
    return Entry(
        key, checked, {**ids, **told, "body_sha256": sha256(canonical.encode()).hexdigest()}
    )


def problem(status: int, detail: str) -> Answer:
    """An error as RFC 9457 wants it; the detail names the field and repeats nothing of the request."""
    return status, {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
