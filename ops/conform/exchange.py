"""One request to a receiver and its answer, also one whose answer nobody waits for."""

import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPConnection, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

import requests

SECONDS = 10.0
PLACE = "{id}"  # stands for an id that nobody has used

Json = dict[str, Any]
Item = tuple[str | None, Json]  # an entry of a batch: its key and its body


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes

    @property
    def is_success(self) -> bool:
        """Return whether the request was taken."""
        return self.status in range(200, 300)

    def repeats(self, first: "Answer") -> bool:
        """Return whether it tells what the first one told; 201 may have become 200."""
        return self.is_success and first.is_success and self.body == first.body

    def __str__(self) -> str:
        """Return it for a line of the report."""
        text = self.body.decode(errors="replace")
        return f"{self.status} {text[:80]}"


class BatchAnswer(NamedTuple):
    """What came back for a request with several entries."""

    whole: Answer
    entries: list[Answer]  # one for each, in their sequence; none if it did not answer each


@dataclass(frozen=True)
class Receiver:
    """Where requests go, and what is sent."""

    url: str
    body: str  # JSON, with a place for a fresh id
    headers: Mapping[str, str]
    ca: str | None = None  # instead of those that this machine trusts
    quoted: bool = True  # the draft of the header wants a string in quotes
    batch_url: str | None = None  # where several entries are posted at once
    expires_after: float | None = None  # seconds for which it says that it keeps a key
    expired_key: str | None = None  # that it kept once, and keeps no longer
    wait: Callable[[float], None] = time.sleep

    def fresh(self) -> tuple[str, Json]:
        """Return a key and a body that nobody has sent yet."""
        text = self.body.replace(PLACE, str(uuid4()))
        body: Json = json.loads(text)
        return str(uuid4()), body

    def post(self, key: str | None, body: Json) -> Answer:
        """Send it, and wait for the answer."""
        answer = self.session().post(
            self.url, data=json.dumps(body), headers=self.with_key(key), timeout=SECONDS
        )
        return Answer(answer.status_code, answer.content)

    def post_batch(self, items: Sequence[Item]) -> BatchAnswer:
        """Send several entries in one request, as docs/wire.md says, and wait for the answer."""
        pairs = [{"idempotency_key": key, "body": body} for key, body in items]
        text = json.dumps({"items": pairs})
        request_key = sha256(text.encode()).hexdigest()
        answer = self.session().post(
            str(self.batch_url), data=text, headers=self.with_key(request_key), timeout=SECONDS
        )
        whole = Answer(answer.status_code, answer.content)
        return BatchAnswer(whole, read_entries(whole, items))

    def post_and_leave(self, key: str, body: Json) -> None:
        """Send it whole, and hang up before the answer is there."""
        place = urlsplit(self.url)
        assert place.hostname
        if place.scheme == "https":
            context = ssl.create_default_context(cafile=self.ca)
            connection: HTTPConnection = HTTPSConnection(
                place.hostname, place.port, timeout=SECONDS, context=context
            )
        else:
            connection = HTTPConnection(place.hostname, place.port, timeout=SECONDS)
        path = f"{place.path}?{place.query}" if place.query else place.path
        connection.request("POST", path, json.dumps(body), self.with_key(key))
        connection.close()

    def with_key(self, key: str | None) -> dict[str, str]:
        """Return the headers of a request."""
        headers = {"Content-Type": "application/json", **self.headers}
        if key is not None:
            headers["Idempotency-Key"] = f'"{key}"' if self.quoted else key
        return headers

    def session(self) -> requests.Session:
        """Return what takes no proxy, CA or password from the environment."""
        session = requests.Session()
        session.trust_env = False
        session.verify = self.ca or True
        return session


def read_entries(whole: Answer, items: Sequence[Item]) -> list[Answer]:
    """Return the answer of each entry; nothing if there is not one for each, under its key."""
    if not whole.is_success:
        return []
    try:
        found = json.loads(whole.body)["items"]
        keys = [item["idempotency_key"] for item in found]
        entries = [Answer(item["status"], canonical(item["body"])) for item in found]
    except (ValueError, TypeError, LookupError):
        return []
    return entries if keys == [key for key, _ in items] else []


def canonical(document: Any) -> bytes:
    """Return a document as bytes that are the same wherever it stood."""
    return json.dumps(document, sort_keys=True).encode()


def other(body: Json) -> Json:
    """Return another body, which is as good: the first text in it is another one."""
    for name, value in body.items():
        if isinstance(value, str):
            return {**body, name: f"{value}-other"}
    raise ValueError("the body has no field with a text that could be another one")
