"""The contract of a request: the idempotency key, and the body of one audit entry."""

import json
import re
from hashlib import sha256
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import ConfigDict, StringConstraints, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from service.audit.problem import ProblemError
from service.order import Id, describe

# A structured-field String, in quotes, as the Idempotency-Key draft wants it.
KEY_HEADER = re.compile(r'"([!#-\[\]-~]{1,128})"')
KEY = re.compile(r"[!#-\[\]-~]{1,128}")

Uuid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Total = Annotated[str, StringConstraints(max_length=40, pattern=r"^[0-9]{1,30}(\.[0-9]{1,2})?$")]


class Body(TypedDict):
    """What happened to one message."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")  # type: ignore[misc]  # pydantic's way
    message_id: Id
    order_id: Id
    outcome: Literal["fulfilled", "rejected"]
    fulfillment_id: Uuid | None
    total: Total | None


class Item(NamedTuple):
    """One body under one key, and the body's fingerprint: the same key with another one is a 422."""

    idempotency_key: str
    body: Body
    body_sha256: str


BODY = TypeAdapter(Body)


def key_of(headers: list[str]) -> str:
    """The key in the header; missing, given twice or not in quotes is a 400 before any work."""
    if not headers:
        raise ProblemError(400, "Idempotency-Key: missing")
    found = KEY_HEADER.fullmatch(headers[0])
    if len(headers) > 1 or found is None:
        raise ProblemError(400, 'Idempotency-Key: should be one string in quotes, like "8e03978e-40d5"')
    return found[1]


def item_of(key: Any, body: Any) -> Item:
    """One entry of a request, checked field by field."""
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise ProblemError(400, "idempotency_key: should be 1 to 128 printable ASCII characters")
    try:
        checked = BODY.validate_python(body)
    except ValidationError as error:
        raise ProblemError(400, describe(error)) from None
    if (checked["outcome"] == "fulfilled") != (checked["fulfillment_id"] is not None):
        raise ProblemError(400, "fulfillment_id: belongs to outcome fulfilled, and to no other")
    canonical = json.dumps(checked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return Item(key, checked, sha256(canonical.encode()).hexdigest())


def document_of(raw: bytes) -> Any:
    """The JSON in a request's body."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ProblemError(400, f"body: not JSON ({type(error).__name__})") from None
