"""One HTTP request to the audit receiver: bounded in time and in bytes, and safe to repeat."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Any, NamedTuple

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError

from access.audit import NO_FILE, AuditAccess, Network
from service.outage import OutageError

ANSWER_LIMIT = 8 * 1024 * 1024  # an answer without an end must not fill the memory
CHUNK = 64 * 1024
NO_HEADERS: Mapping[str, str] = {}


class Receiver(NamedTuple):
    """Where requests go, how long one of them may take, and what tells who sends it."""

    http: requests.Session
    url: str
    timeout: float
    token: Callable[[], str] = str  # read for each request; nothing where none is needed


class Response(NamedTuple):
    """What the receiver sent back."""

    status: int
    content: bytes
    retry_after: float


def connect(access: AuditAccess, timeout: float) -> Receiver:
    """Return a receiver with one kept connection, without proxies or credentials from outside."""
    http = requests.Session()
    http.trust_env = False  # it would also let the environment choose another CA
    if access.audit_ca_file != NO_FILE:
        http.verify = str(access.audit_ca_file)
    if access.audit_certificate_file != NO_FILE:
        http.cert = (str(access.audit_certificate_file), str(access.audit_key_file))
    if access.audit_allowed_networks:
        stay_within(http, access.audit_allowed_networks)
    return Receiver(http, access.audit_url, timeout, access.token)


def stay_within(http: requests.Session, networks: Sequence[Network]) -> None:
    """Let each connection look where it has led before anything is sent: a name may lead elsewhere.

    The names that DNS gives are not asked: what counts is the address of the socket.
    """
    pools = {
        "http": within(HTTPConnectionPool, networks),
        "https": within(HTTPSConnectionPool, networks),
    }
    for scheme in pools:
        adapter = HTTPAdapter()
        adapter.poolmanager.pool_classes_by_scheme = pools
        http.mount(f"{scheme}://", adapter)


def within(pool: Any, networks: Sequence[Network]) -> Any:
    """Return the pool of connections whose other end must be in one of these networks."""

    class Connection(pool.ConnectionCls):  # type: ignore[misc]
        def connect(self) -> None:
            super().connect()
            address = ip_address(self.sock.getpeername()[0])
            address = getattr(address, "ipv4_mapped", None) or address
            if not any(address in network for network in networks):
                self.close()
                sentence = f"audit receiver: {address} is in none of AUDIT_ALLOWED_NETWORKS"
                raise OutageError(sentence)

    class Pool(pool):  # type: ignore[misc]
        ConnectionCls = Connection

    return Pool


def send(
    receiver: Receiver,
    path: str,
    key: str,
    body: bytes,
    more_headers: Mapping[str, str] = NO_HEADERS,
) -> Response:
    """Send one request; a lost, late or endless answer is an outage, as its effect is unknown."""
    deadline = time.monotonic() + receiver.timeout
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": f'"{key}"',
        **more_headers,
    }
    content = b""
    try:
        if token := receiver.token():
            headers["Authorization"] = f"Bearer {token}"
        with receiver.http.post(
            receiver.url + path,
            body,
            headers=headers,
            timeout=receiver.timeout,
            allow_redirects=False,
            stream=True,
        ) as answer:
            while chunk := answer.raw.read1(CHUNK, decode_content=True):
                content += chunk
                is_late = time.monotonic() > deadline
                is_too_long = len(content) > ANSWER_LIMIT
                if is_late or is_too_long:
                    raise OutageError(f"audit receiver: no end after {len(content)} bytes")
    except (requests.RequestException, HTTPError, OSError) as error:
        kind = type(error).__name__
        raise OutageError(f"audit receiver: {kind}") from error
    retry_after = retry_after_seconds(answer.headers)
    return Response(answer.status_code, content, retry_after)


def retry_after_seconds(headers: Mapping[str, str]) -> float:
    """Return how long the receiver asks us to wait, whether it gives seconds or a date."""
    asked = headers.get("Retry-After", "").strip()
    is_number = asked.isascii() and asked.isdecimal()
    if is_number:
        return float(asked)
    until = parse_date(asked)
    if until is None:
        return 0
    # By the receiver's own clock, which need not agree with ours.
    now = parse_date(headers.get("Date", "")) or datetime.now(UTC)
    return max(0, (until - now).total_seconds())


def parse_date(text: str) -> datetime | None:
    """Return the time in an HTTP date, or None if there is no date in the text."""
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    is_without_zone = found.tzinfo is None
    return found.replace(tzinfo=UTC) if is_without_zone else found
