"""A proxy before a Kafka broker that loses the acknowledgement of every tenth Produce request."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from ops.settings import HOST

PRODUCE = 0  # the API key of the only requests whose answers are lost
EVERY = 10  # nine of ten answers pass: a client that is cut off each time proves only its patience


@dataclass
class AckLosses:
    """Counts the answers to Produce requests and chooses which to lose, never more than `limit`."""

    limit: int
    note: Callable[[str], object] = lambda _: None
    answers: int = 0
    lost: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def lose_next(self) -> bool:
        """Count one more answer and return whether it must be lost."""
        with self.lock:
            self.answers += 1
            is_limit_reached = self.lost == self.limit
            if is_limit_reached or self.answers % EVERY:
                return False
            self.lost += 1
            self.note(f"{self.lost:,} of {self.limit:,} acknowledgements lost")
            return True


class KafkaProxy:
    """Passes frames between clients and a broker; assign `losses` to begin a new count."""

    def __init__(self, broker_port: int) -> None:
        self.server = socket.create_server((HOST, 0))
        self.port: int = self.server.getsockname()[1]
        self.broker_port = broker_port
        self.losses = AckLosses(0)

    def serve(self, client: socket.socket) -> None:
        """Connect one client with the broker; when one side hangs up, so does the other."""
        address = (HOST, self.broker_port)
        with client, suppress(OSError), socket.create_connection(address) as broker:
            self.connect(client, broker)

    def connect(self, client: socket.socket, broker: socket.socket) -> None:
        """Pass requests and answers on until one side hangs up."""
        for connection in (client, broker):  # frames are small: send each at once
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        produced: set[int] = set()
        answering = threading.Thread(
            target=self.pass_answers,
            args=(broker, client, produced),
            daemon=True,
        )
        answering.start()
        try:
            pass_requests(client, broker, produced)
        finally:
            hang_up(client, broker)
            answering.join()

    def pass_answers(
        self,
        broker: socket.socket,
        client: socket.socket,
        produced: set[int],
    ) -> None:
        """Pass every answer but the lost ones; when it answers, the broker has the records."""
        with suppress(OSError):
            for frame in read_frames(broker):
                (correlation,) = struct.unpack_from(">i", frame, 4)
                if correlation in produced and self.losses.lose_next():
                    break
                produced.discard(correlation)
                client.sendall(frame)
        hang_up(client, broker)

    def __enter__(self) -> Self:
        start_accepting(self.server, self.serve)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        hang_up(self.server)
        self.server.close()


def start_accepting(listener: socket.socket, serve: Callable[[socket.socket], None]) -> None:
    """Serve every client in a thread of its own, until the listener is closed."""

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def pass_requests(client: socket.socket, broker: socket.socket, produced: set[int]) -> None:
    """Pass every request on and remember the correlation ids of Produce requests."""
    for frame in read_frames(client):
        api_key, _, correlation = struct.unpack_from(">hhi", frame, 4)
        if api_key == PRODUCE:
            produced.add(correlation)
        broker.sendall(frame)


def hang_up(*connections: socket.socket) -> None:
    """End these connections at once, also for the threads that read them."""
    for connection in connections:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def read_frames(connection: socket.socket) -> Iterator[bytes]:
    """Yield each whole Kafka frame with its four bytes of length, until the other side hangs up."""
    with connection.makefile("rb") as stream:
        while True:
            head = stream.read(4)
            if len(head) < 4:
                return
            length = int.from_bytes(head)
            body = stream.read(length)
            if len(body) < length:
                return
            yield head + body
