"""The idempotent POST: many entries in one request, each under its own key, repeated until answered."""

import json
import time
from collections.abc import Sequence
from typing import Any

import requests
from urllib3.exceptions import HTTPError

from service.audit_entry import Entry
from service.outage import OutageError, RefusedError

REFUSED = {400, 413, 422}  # the same bytes again will be refused again
ANSWER_LIMIT = 8 * 1024 * 1024  # an answer without an end must not fill the memory

Answers = dict[str, str | None]  # message id -> None, or why the entry was refused for good


def session() -> requests.Session:
    """One kept connection; no proxies or credentials from the environment."""
    http = requests.Session()
    http.trust_env = False
    return http


def post(http: requests.Session, url: str, timeout: float, entries: Sequence[Entry]) -> Answers:
    """The receiver's answer for each entry; OutageError while it cannot give them all."""
    items = [{"idempotency_key": entry.idempotency_key, "body": entry.body} for entry in entries]
    status, retry_after, document = send(http, f"{url}/audit-entries/batch", timeout, {"items": items})
    if status in REFUSED:
        raise RefusedError(f"{status} {detail(document)}")
    if status != 200:  # 401, 403 and 404 too: somebody must mend them, and until then nothing is skipped
        raise OutageError(f"audit receiver: {status} {detail(document)}", retry_after)
    answers = {item.get("idempotency_key"): item for item in document.get("items", [])}
    return {entry.body["message_id"]: verdict(answers.get(entry.idempotency_key)) for entry in entries}


def verdict(item: Any) -> str | None:
    """None for an accepted entry, the reason for a refused one; anything else is asked again."""
    status = item.get("status") if isinstance(item, dict) else None
    if status in (200, 201):
        return None
    if status in REFUSED:
        return f"{status} {detail(item.get('body'))}"
    raise OutageError(f"audit receiver: item status {status}")


def send(http: requests.Session, url: str, timeout: float, document: Any) -> tuple[int, float | None, dict[str, Any]]:
    """One request; a lost, endless or unreadable answer is an outage, because its effect is unknown."""
    body = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json"}
    deadline = time.monotonic() + timeout
    try:
        with http.post(url, body, headers=headers, timeout=timeout, allow_redirects=False, stream=True) as answer:
            parsed = json.loads(read(answer, deadline) or b"{}")
    except (requests.RequestException, HTTPError, OSError, ValueError) as error:
        raise OutageError(f"audit receiver: {type(error).__name__}") from error
    return answer.status_code, seconds(answer.headers.get("Retry-After")), parsed


def read(answer: requests.Response, deadline: float) -> bytes:
    """The whole answer, unless it is endless or trickles past the deadline."""
    content = b""
    while chunk := answer.raw.read1(65536, decode_content=True):
        content += chunk
        if len(content) > ANSWER_LIMIT or time.monotonic() > deadline:
            raise OutageError(f"audit receiver: no end after {len(content)} bytes")
    return content


def seconds(retry_after: str | None) -> float | None:
    """Retry-After in seconds; its other form, a date, is left to our own back-off."""
    return float(retry_after) if retry_after and retry_after.isdigit() else None


def detail(document: Any) -> str:
    """The problem's own words, cut to what a row or a log line should hold."""
    text = document.get("detail", "") if isinstance(document, dict) else ""
    return str(text)[:500]
