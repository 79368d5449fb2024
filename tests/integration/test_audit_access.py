"""Who may call the audit receiver, and whom its callers trust: HTTPS, tokens, certificates."""

import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest
import requests

from access.audit import AuditAccess
from ops.stack.certificates import CLIENT, make_ca, make_certificate
from ops.stack.stack import Stack
from service.outage import OutageError
from service.request import Receiver, Response, connect, send
from tests.client import fresh, query, until
from tests.integration.test_audit import body
from tests.own_service import free_port

PATH = "/audit-entries"


class Secured(NamedTuple):
    """A receiver that speaks HTTPS and asks for a token."""

    url: str
    folder: Path
    tokens: Path
    log: Path

    def receiver(self, token: str, **changes: Any) -> Receiver:
        """Return the way to it for the owner of a token."""
        file = self.folder / fresh("token")
        file.write_text(f"{token}\n")
        settings: dict[str, Any] = {
            "audit_url": self.url,
            "audit_ca_file": self.folder / "ca.pem",
            "audit_token_file": file,
        }
        return connect(AuditAccess(**settings | changes), timeout=5)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA, and a certificate of the receiver for the name localhost alone."""
    folder = tmp_path_factory.mktemp("tls")
    make_certificate(folder, "audit", addresses=())
    make_certificate(folder, "service", usage=CLIENT)
    return folder


def start(stack: Stack, folder: Path, tokens: str, **more: str) -> Iterator[Secured]:
    """Run a receiver of a test's own beside the stack's, on the same database."""
    file = folder / fresh("tokens")
    file.write_text(tokens)
    log = folder / f"{fresh('audit')}.log"
    port = free_port()
    settings = {
        "AUDIT_PORT": str(port),
        "AUDIT_TOKENS_FILE": str(file),
        "AUDIT_SERVER_CERTIFICATE_FILE": str(folder / "audit.crt"),
        "AUDIT_SERVER_KEY_FILE": str(folder / "audit.key"),
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "service.audit"],
            env=stack.env() | settings | more,
            stdout=output,
            stderr=output,
        )
    try:
        until(lambda: listens(port), bool, 30, "the receiver does not listen")
        yield Secured(f"https://localhost:{port}", folder, file, log)
    finally:
        process.kill()
        process.wait(10)


def listens(port: int) -> bool:
    """Return whether somebody listens on a port."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def secured(spoiled: Stack, certificates: Path) -> Iterator[Secured]:
    """A receiver with two callers."""
    yield from start(spoiled, certificates, "service first-token\nother other-token\n")


def post(receiver: Receiver, key: str, **changes: Any) -> int:
    """Post an entry, and return the status of the answer."""
    return send(receiver, PATH, key, json.dumps(body(**changes)).encode()).status


def test_a_caller_with_a_token_is_served_and_noted(secured: Secured) -> None:
    """The entry has the name of its caller, and the same again is the same answer."""
    key = fresh("key")
    receiver = secured.receiver("first-token")
    assert [post(receiver, key), post(receiver, key)] == [201, 201]
    rows = query("select caller from audit_entry where idempotency_key = %s", key, database="audit")
    assert rows == [("service",)]


@pytest.mark.parametrize("token", ["", "first-toke", "first-token2", "service", "FIRST-TOKEN"])
def test_without_the_whole_token_nobody_is_served(secured: Secured, token: str) -> None:
    """A part of it, more of it, or the caller's name is not enough; nothing is written."""
    key = fresh("key")
    assert post(secured.receiver(token), key) == 401
    assert not query("select 1 from audit_entry where idempotency_key = %s", key, database="audit")


def test_a_refusal_comes_before_the_body(secured: Secured) -> None:
    """The answer is there although of the announced megabyte not one byte was sent."""
    context = ssl.create_default_context(cafile=str(secured.folder / "ca.pem"))
    port = int(secured.url.rpartition(":")[2])
    with (
        socket.create_connection(("localhost", port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as client,
    ):
        client.sendall(
            f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n".encode()
        )
        assert client.recv(100).startswith(b"HTTP/1.1 401 ")


def test_a_key_belongs_to_its_caller(secured: Secured) -> None:
    """Another caller learns nothing of the entry, and cannot replay it; the owner still can."""
    key = fresh("key")
    owner, other = secured.receiver("first-token"), secured.receiver("other-token")
    assert post(owner, key) == 201
    refused = send(other, PATH, key, json.dumps(body()).encode())
    assert refused.status == 422
    assert (
        json.loads(refused.content)["detail"] == "Idempotency-Key: already used by another caller"
    )
    assert post(owner, key) == 201


def test_tokens_rotate_without_a_restart(secured: Secured) -> None:
    """New beside old at the receiver, then new at the sender, then the old one goes."""
    file = secured.folder / fresh("token")
    file.write_text("first-token\n")
    receiver = secured.receiver("", audit_token_file=file)
    statuses = [post(receiver, fresh("key"))]
    secured.tokens.write_text("service first-token\nservice second-token\n")
    statuses.append(post(receiver, fresh("key")))
    file.write_text("second-token\n")
    statuses.append(post(receiver, fresh("key")))
    secured.tokens.write_text("service second-token\n")
    statuses.append(post(receiver, fresh("key")))
    assert statuses == [201] * 4
    assert post(secured.receiver("first-token"), fresh("key")) == 401


def test_whom_the_client_does_not_know_gets_nothing(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another CA, or a name that is not in the certificate: no request is sent.

    The environment of the process does not change whom it trusts.
    """
    other_ca = make_ca(tmp_path)
    by_address = secured.url.replace("localhost", "127.0.0.1")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(secured.folder / "ca.pem"))
    for changes in ({"audit_ca_file": other_ca}, {"audit_url": by_address}):
        with pytest.raises(OutageError, match="audit receiver: SSLError"):
            post(secured.receiver("first-token", **changes), fresh("key"))


def test_a_receiver_may_ask_for_a_certificate(spoiled: Stack, certificates: Path) -> None:
    """A caller without one, or with one of another CA, is not even heard."""
    more = {"AUDIT_CLIENT_CA_FILE": str(certificates / "ca.pem")}
    for secured in start(spoiled, certificates, "service first-token\n", **more):
        with pytest.raises(OutageError):
            post(secured.receiver("first-token"), fresh("key"))
        shown = {
            "audit_certificate_file": certificates / "service.crt",
            "audit_key_file": certificates / "service.key",
        }
        assert post(secured.receiver("first-token", **shown), fresh("key")) == 201


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty; write a line for each caller: NAME TOKEN"),
        ("service\n", "each line should be NAME TOKEN"),
    ],
)
def test_a_file_that_lets_nobody_in_ends_the_start(
    spoiled: Stack, tmp_path: Path, text: str, sentence: str
) -> None:
    """One sentence with the setting, and exit code 2."""
    file = tmp_path / "tokens"
    file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "service.audit"],
        env=spoiled.env() | {"AUDIT_TOKENS_FILE": str(file), "AUDIT_PORT": str(free_port())},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, f"AUDIT_TOKENS_FILE={file}: {sentence}\n")


def test_control_the_stacks_own_receiver_asks_for_nothing(spoiled: Stack) -> None:
    """Control: without a file of tokens everybody is served."""
    answer = requests.post(
        spoiled.env()["AUDIT_URL"] + PATH,
        json=body(),
        headers={"Idempotency-Key": f'"{fresh("key")}"'},
        timeout=10,
    )
    assert answer.status_code == 201


class Listener(NamedTuple):
    """A receiver on every address of this machine that notes what it was asked for."""

    port: int
    asked: list[str]


@pytest.fixture
def listener() -> Iterator[Listener]:
    """Listen until the test is over."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("0.0.0.0", 0), Handler)  # noqa: S104 - of 127.0.0.0/8, too
    Thread(target=server.serve_forever, daemon=True).start()
    yield Listener(server.server_port, asked)
    server.shutdown()
    server.server_close()


def test_a_name_that_leads_elsewhere_later_is_sent_nothing(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS changes while the service runs: the connection sees where it has led, before a request.

    The control: at the address that is allowed, and without the setting, the same is sent.
    """
    leads_to = ["127.0.0.1"]

    def look_up(_host: str, port: int, *_: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (leads_to[0], port))]

    monkeypatch.setattr("urllib3.util.connection.socket.getaddrinfo", look_up)
    url = f"http://audit.example:{listener.port}"
    with monkeypatch.context() as environment:
        environment.setenv("AUDIT_ALLOWED_NETWORKS", "10.0.0.0/8, 127.0.0.1")
        kept = connect(AuditAccess(audit_url=url), timeout=5)
    assert send(kept, PATH, fresh("key"), b"{}").status == 201

    leads_to[0] = "127.0.0.2"
    kept.http.close()  # as after an idle minute
    with pytest.raises(OutageError, match=r"127\.0\.0\.2 is in none of AUDIT_ALLOWED_NETWORKS"):
        send(kept, PATH, fresh("key"), b"{}")
    assert len(listener.asked) == 1
    anywhere = connect(AuditAccess(audit_url=url), timeout=5)
    assert send(anywhere, PATH, fresh("key"), b"{}").status == 201


def test_an_encrypted_connection_looks_where_it_has_led_too(secured: Secured) -> None:
    """The certificate is right, and the address is not allowed: no token is shown."""
    allowed = secured.receiver("first-token", audit_allowed_networks="127.0.0.1, ::1")
    assert post(allowed, fresh("key")) == 201
    refused = secured.receiver("first-token", audit_allowed_networks="10.0.0.0/8")
    with pytest.raises(OutageError, match="in none of AUDIT_ALLOWED_NETWORKS"):
        post(refused, fresh("key"))


@pytest.fixture
def limited(spoiled: Stack, certificates: Path) -> Iterator[Secured]:
    """A receiver that takes few requests from each of two callers, with small headers."""
    limits = {"AUDIT_REQUESTS_PER_SECOND": "2", "AUDIT_HEADER_BYTES": "4096"}
    yield from start(spoiled, certificates, "busy word-1\ncalm word-2\n", **limits)


def ask(receiver: Receiver) -> Response:
    """Send an entry with nothing in it."""
    return send(receiver, PATH, fresh("key"), b"{}")


def test_a_caller_who_asks_too_often_is_told_when_to_come_again(limited: Secured) -> None:
    """Past the rate it is 429 with Retry-After, for that caller alone, and only for a while."""
    busy, calm = limited.receiver("word-1"), limited.receiver("word-2")
    refused = until(lambda: ask(busy), lambda found: found.status == 429, 10, "never too often")
    assert refused.retry_after == 1
    assert ask(calm).status == 400  # let in, and then read
    until(lambda: ask(busy).status, lambda status: status == 400, 10, "it is refused for ever")


@pytest.mark.parametrize(("size", "status"), [(1_000, 400), (5_000, 431)])
def test_headers_beyond_the_limit_are_refused(limited: Secured, size: int, status: int) -> None:
    """What is too large is refused before anything else is looked at; what is not is read."""
    answer = requests.post(
        limited.url + PATH,
        headers={"Authorization": "Bearer word-1", "X-More": "x" * size},
        verify=str(limited.folder / "ca.pem"),
        timeout=10,
    )
    assert answer.status_code == status
