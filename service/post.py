"""The idempotent POST: many entries in one request, each under its own key, repeated until answered."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import requests
from pydantic_core import from_json, to_json
from urllib3.exceptions import HTTPError

from service.ids import derive
from service.outage import OutageError, RefusedError
from service.record import Message, clean
from service.write import Answers

REFUSED = {400, 413, 422}  # the same bytes again will be refused again
ANSWER_LIMIT = 8 * 1024 * 1024  # an answer without an end must not fill the memory


class Entry(NamedTuple):
    """A message that the receiver has yet to be told of."""

    message: Message
    fulfilled: bool  # or else rejected

    def item(self) -> dict[str, Any]:
        """A pure function of the message and its outcome: a retry sends the same key and the same bytes."""
        message = self.message
        ids = {"message_id": message.message_id, "order_id": message.order["order_id"]}
        outcome: dict[str, str | None] = {
            "outcome": "rejected",
            "fulfillment_id": None,
            "total": None,
        }
        if self.fulfilled:
            fulfillment_id = derive("fulfillment", message.message_id)
            outcome = {
                "outcome": "fulfilled",
                "fulfillment_id": fulfillment_id,
                "total": message.total,
            }
        return {"idempotency_key": derive("audit", message.message_id), "body": ids | outcome}


def session() -> requests.Session:
    """One kept connection; no proxies or credentials from the environment."""
    http = requests.Session()
    http.trust_env = False
    return http


def post(http: requests.Session, url: str, timeout: float, entries: Sequence[Entry]) -> Answers:
    """The receiver's answer for each entry; OutageError while it cannot give them all."""
    items = {entry.message.message_id: entry.item() for entry in entries}
    body = to_json({"items": list(items.values())})
    status, retry_after, content = send(http, f"{url}/audit-entries/batch", body, timeout)
    if status in REFUSED:
        raise RefusedError(clean(f"{status} {content[:500].decode(errors='replace')}"))
    if (
        status != 200
    ):  # 401, 403 and 404 too: somebody must mend them, and until then nothing is skipped
        raise OutageError(f"audit receiver: {status}", retry_after)
    try:
        answers = {item["idempotency_key"]: item for item in from_json(content)["items"]}
        return {
            message_id: verdict(answers[item["idempotency_key"]])
            for message_id, item in items.items()
        }
    except (
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
    ) as error:  # no JSON, or of another form
        raise OutageError("audit receiver: not an answer for each entry") from error


def verdict(item: dict[str, Any]) -> str | None:
    """None for an accepted entry, the reason for a refused one; anything else is asked again."""
    if item["status"] in REFUSED:
        return clean(f"{item['status']} {item['body'].get('detail', '')}"[:500])
    if item["status"] not in (200, 201):
        raise OutageError(f"audit receiver: item status {item['status']}")
    return None


def send(http: requests.Session, url: str, body: bytes, timeout: float) -> tuple[int, float, bytes]:
    """One request; a lost, late or endless answer is an outage, because its effect is unknown."""
    deadline = time.monotonic() + timeout
    headers = {"Content-Type": "application/json"}
    content = b""
    try:
        with http.post(
            url, body, headers=headers, timeout=timeout, allow_redirects=False, stream=True
        ) as answer:
            while chunk := answer.raw.read1(65536, decode_content=True):
                content += chunk
                if len(content) > ANSWER_LIMIT or time.monotonic() > deadline:
                    raise OutageError(f"audit receiver: no end after {len(content)} bytes")
    except (requests.RequestException, HTTPError, OSError) as error:
        raise OutageError(f"audit receiver: {type(error).__name__}") from error
    seconds = answer.headers.get(
        "Retry-After", ""
    )  # its other form, a date, is left to our own back-off
    return answer.status_code, float(seconds) if seconds.isdecimal() else 0, content
