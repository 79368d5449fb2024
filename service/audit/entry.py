"""One audit entry: its idempotency key, its body, and the answer that both make."""

import json
import re
from hashlib import sha256
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple

from pydantic import StringConstraints, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from contract.audit import AuditBody
from contract.events import ACCEPTED
from contract.strict_json import describe
from contract.trace import Trace
from service.ids import derive

# A structured-field String: the draft of the Idempotency-Key header wants the quotes.
KEY_HEADER = re.compile(r'"([!#-\[\]-~]{1,128})"')


class Received(TypedDict):
    """One entry as it arrives: the key from the header, or both from one item of a batch."""

    idempotency_key: Annotated[str, StringConstraints(pattern=r"^[!#-\[\]-~]{1,128}$")]
    body: AuditBody


Document = dict[str, Any]


class Answer(NamedTuple):
    """What the sender of an entry is told."""

    status: int
    body: Document


class Entry(NamedTuple):
    """What is kept of a request: key, body, and the answer, which is the event as well."""

    idempotency_key: str
    body: AuditBody
    answer: Document  # a pure function of the other two
    trace: Trace | None = None  # of its event, and no part of what its key belongs to
    caused_by: str | None = None  # the span that sent it, if it is recorded in a span of its own


RECEIVED = TypeAdapter(Received)


def check(key: Any, body: Any, trace: Trace | None = None) -> Entry | Answer:
    """Return the entry, or the problem that is its answer."""
    received = {"idempotency_key": key, "body": body}
    try:
        checked = RECEIVED.validate_python(received, strict=True, extra="forbid")["body"]
    except ValidationError as error:
        return problem(400, describe(error).removeprefix("body."))
    is_accepted = checked["outcome"] == ACCEPTED
    has_fulfillment = checked["fulfillment_id"] is not None
    if is_accepted != has_fulfillment:
        return problem(400, f"fulfillment_id: belongs to outcome {ACCEPTED}, and to no other")
    answer = {
        "audit_entry_id": derive("audit-entry", key),
        "idempotency_key": key,
        "message_id": checked["message_id"],
        "order_id": checked["order_id"],
        "outcome": checked["outcome"],
        "body_sha256": hash_body(checked),
    }
    return Entry(key, checked, answer, trace)


def hash_body(body: AuditBody) -> str:
    """Return the hash of the canonical body: the same key with another one is a 422."""
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(canonical.encode()).hexdigest()


def problem(status: int, detail: str) -> Answer:
    """Return an error as RFC 9457 wants it; the detail names the field, and never its value."""
    document = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    return Answer(status, document)
