"""The idempotent POST: many entries in one request, each with a key of its own, until answered."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import requests
from pydantic_core import from_json, to_json
from urllib3.exceptions import HTTPError

from contract.names import SUBSCRIBER
from service.ids import derive
from service.outage import OutageError, RefusedError
from service.record import Message, clean
from service.rule import audit_body
from service.write import Answers

REFUSED = {400, 413, 422}  # the same bytes again will be refused again
ACCEPTED = {200, 201}
ANSWER_LIMIT = 8 * 1024 * 1024  # an answer without an end must not fill the memory
REASON_LIMIT = 500


class Entry(NamedTuple):
    """A message that the audit receiver has not yet been sent."""

    message: Message
    outcome: str


class Response(NamedTuple):
    """What the receiver sent back."""

    status: int
    retry_after: float
    content: bytes


def session() -> requests.Session:
    """Return one kept connection, without proxies or credentials of the environment."""
    http = requests.Session()
    http.trust_env = False
    return http


def post(
    http: requests.Session,
    url: str,
    timeout: float,
    entries: Sequence[Entry],
    subscriber: str = SUBSCRIBER,
) -> Answers:
    """Return the receiver's answer for each entry, or raise OutageError until it gives them all."""
    items = {entry.message.message_id: make_item(entry, subscriber) for entry in entries}
    body = to_json({"items": list(items.values())})
    response = send(http, f"{url}/audit-entries/batch", body, timeout)
    if response.status in REFUSED:
        text = response.content[:REASON_LIMIT].decode(errors="replace")
        raise RefusedError(clean(f"{response.status} {text}"))
    if response.status != 200:  # 401, 403 and 404 too: until they are put right nothing is skipped
        raise OutageError(f"audit receiver: {response.status}", response.retry_after)
    try:
        answers = {item["idempotency_key"]: item for item in from_json(response.content)["items"]}
        return {
            message_id: judge_answer(answers[item["idempotency_key"]])
            for message_id, item in items.items()
        }
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise OutageError("audit receiver: not an answer for each entry") from error


def make_item(entry: Entry, subscriber: str = SUBSCRIBER) -> dict[str, Any]:
    """Return the entry's key and body: a retry sends the same key and the same bytes."""
    key = derive("audit", entry.message.message_id, subscriber)
    return {
        "idempotency_key": key,
        "body": audit_body(entry.message, entry.outcome, subscriber),
    }


def judge_answer(item: dict[str, Any]) -> str | None:
    """Return None for an accepted entry and the reason for a refused one; else ask again."""
    status = item["status"]
    if status in REFUSED:
        detail = item["body"].get("detail", "")
        return clean(f"{status} {detail}"[:REASON_LIMIT])
    if status not in ACCEPTED:
        raise OutageError(f"audit receiver: item status {status}")
    return None


def send(http: requests.Session, url: str, body: bytes, timeout: float) -> Response:
    """Send one request; a lost, late or endless answer is an outage, as its effect is unknown."""
    deadline = time.monotonic() + timeout
    content = b""
    try:
        with http.post(
            url,
            body,
            headers={"Content-Type": "application/json"},
            timeout=timeout,
            allow_redirects=False,
            stream=True,
        ) as answer:
            while chunk := answer.raw.read1(65536, decode_content=True):
                content += chunk
                is_late = time.monotonic() > deadline
                if is_late or len(content) > ANSWER_LIMIT:
                    raise OutageError(f"audit receiver: no end after {len(content)} bytes")
    except (requests.RequestException, HTTPError, OSError) as error:
        raise OutageError(f"audit receiver: {type(error).__name__}") from error
    return Response(answer.status_code, retry_after_seconds(answer), content)


def retry_after_seconds(answer: requests.Response) -> float:
    """Return how long the receiver asks us to wait; a date instead of seconds is ignored."""
    seconds = answer.headers.get("Retry-After", "")
    return float(seconds) if seconds.isdecimal() else 0
