"""The proxy and the reader of batches, with a broker of a few lines that speaks only frames."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from lab.kafka_proxy import EVERY, PRODUCE, AckLosses, KafkaProxy, read_frames
from lab.prove.batches import Batch
from lab.prove.fetch import make_request, read
from lab.prove.partitions import PartitionSpan
from ops.settings import HOST
from ops.stack.supervisor import StackError
from tools.lab.tests.unit.test_prove_bytes import batch

METADATA = 3
LEAST = 8  # bytes of a frame: its length, and the correlation id
Answers = Callable[[bytes], bytes]  # to a frame; what is no frame is the last that is said


@contextmanager
def broker(answers: Answers) -> Iterator[int]:
    """Answers each frame on each connection; its port."""

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            for frame in read_frames(connection):
                answer = answers(frame)
                connection.sendall(answer)
                if len(answer) < LEAST:
                    return

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

    with socket.create_server((HOST, 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def frame(*fields: bytes) -> bytes:
    """Return a frame with its length in front."""
    body = b"".join(fields)
    return struct.pack(">i", len(body)) + body


def echo(asked: bytes) -> bytes:
    """Return the correlation id, as every answer begins, and what was asked."""
    return frame(asked[8:12], asked[12:])


class Client:
    """Asks one thing after the other, and connects again when it is cut off, as clients do."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connection = socket.create_connection((HOST, port), timeout=10)

    def ask(self, key: int, number: int) -> bytes | None:
        """Return the answer, or nothing if the connection ends instead."""
        self.connection.sendall(frame(struct.pack(">hhi", key, 9, number), b"body %d" % number))
        answer = next(read_frames(self.connection), None)
        if answer is None:
            self.connection.close()
            self.connection = socket.create_connection((HOST, self.port), timeout=10)
        return answer


@contextmanager
def through_the_proxy(limit: int, seen: list[bytes]) -> Iterator[tuple[Client, AckLosses]]:
    """A client behind a proxy that loses at most this many, and all that the broker has seen."""

    def answers(asked: bytes) -> bytes:
        seen.append(asked[12:])
        return echo(asked)

    with broker(answers) as port, KafkaProxy(port) as proxy:
        proxy.losses = AckLosses(limit)
        client = Client(proxy.port)
        yield client, proxy.losses
        client.connection.close()


def test_every_tenth_acknowledgement_is_lost_after_the_broker_has_the_records() -> None:
    """All requests arrive; of 30 answers to Produce three are lost, each with its connection."""
    seen: list[bytes] = []
    with through_the_proxy(5, seen) as (client, losses):
        answers = [client.ask(PRODUCE, n) for n in range(3 * EVERY)]
    assert [n for n, answer in enumerate(answers) if answer is None] == [9, 19, 29]
    assert answers[0] == frame(struct.pack(">i", 0), b"body 0")
    assert seen == [b"body %d" % n for n in range(3 * EVERY)]
    assert (losses.answers, losses.lost) == (30, 3)


def test_no_more_acknowledgements_are_lost_than_were_asked_for() -> None:
    """After the last of them everything passes."""
    with through_the_proxy(2, []) as (client, losses):
        answers = [client.ask(PRODUCE, n) for n in range(5 * EVERY)]
    assert answers.count(None) == losses.lost == 2


def test_other_answers_always_pass() -> None:
    """A client may find the cluster and get its producer id however often it must ask."""
    with through_the_proxy(5, []) as (client, losses):
        assert all(client.ask(METADATA, n) for n in range(3 * EVERY))
    assert (losses.answers, losses.lost) == (0, 0)


def test_a_broker_that_is_away_cuts_the_client_off() -> None:
    """The client learns it at once and does not wait."""
    with socket.create_server((HOST, 0)) as nobody:
        port = nobody.getsockname()[1]
    with (
        KafkaProxy(port) as proxy,
        socket.create_connection((HOST, proxy.port), timeout=10) as client,
    ):
        assert client.recv(1) == b""


SPAN = PartitionSpan(HOST, 0, "t", 3, 10, 16)


def fetched(data: bytes, error: int = 0, aborted: int = 0) -> bytes:
    """Return an answer to Fetch version 10 with these batches."""
    front = struct.pack(">iihi", 0, 0, 0, 0) + struct.pack(">ih1si", 1, 1, b"t", 1)
    part = struct.pack(">ihqqqi", 3, error, 16, 16, 0, aborted) + bytes(16 * aborted)
    return frame(front, part, struct.pack(">i", len(data)), data)


def test_a_partition_is_read_to_its_end_over_cut_off_answers() -> None:
    """Each batch once: one that began earlier, one cut off, one behind aborted transactions."""
    whole = [batch(8, 4, sequence=8), batch(12, 2, sequence=12), batch(14, 2, sequence=14)]
    answers = {10: fetched(whole[0] + whole[1][:30]), 12: fetched(whole[1] + whole[2], aborted=2)}
    expected = {make_request(SPAN, offset): answer for offset, answer in answers.items()}
    with broker(lambda asked: expected[asked]) as port:
        found = list(read(SPAN._replace(port=port)))
    assert found == [
        Batch(first, last, 7, 0, first, control=False, written=2000)
        for first, last in [(8, 11), (12, 13), (14, 15)]
    ]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (fetched(b"", error=29), "t/3: Broker: Topic authorization failed"),
        (fetched(b""), "t/3: nothing at offset 10"),
        (b"", "hung up; .* for TLS or SASL, go through a plaintext listener or a tunnel"),
        (b"\x15\x03\x03\x00\x02\x02\x50", "(hung up|does not answer).*; .* for TLS or SASL"),
    ],
)
def test_a_broker_that_cannot_be_read_is_reported_with_the_way_out(
    answer: bytes, sentence: str
) -> None:
    """Its own reason if it gives one; if it hangs up, as over TLS or SASL, what is supported."""
    given = iter([answer])
    with broker(lambda _: next(given, b"")) as port, pytest.raises(StackError, match=sentence):
        list(read(SPAN._replace(port=port)))
