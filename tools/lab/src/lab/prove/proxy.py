"""Stands before a broker, passes Kafka's frames on, and loses the acknowledgement of every tenth Produce request."""

import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from lab.prove.frames import frames
from lab.prove.tally import Tally

HOST = "127.0.0.1"
PRODUCE = 0  # the api key of the only requests whose answers are lost


class Proxy:
    """Listens on `port` from the start of the block to its end; `tally` may be changed for a fresh one."""

    def __init__(self, broker_port: int) -> None:
        self.server = socket.create_server((HOST, 0))
        self.port: int = self.server.getsockname()[1]
        self.broker_port = broker_port
        self.tally = Tally(0)

    def accept(self) -> None:
        """Serve whoever comes, until the block ends."""
        with suppress(OSError):
            while True:
                client, _ = self.server.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        """One connection of a client, and ours to the broker for it: when one ends, so does the other."""
        with (
            client,
            suppress(OSError),
            socket.create_connection((HOST, self.broker_port)) as broker,
        ):
            for connection in (client, broker):
                connection.setsockopt(
                    socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
                )  # frames are small: do not collect
            asked: set[int] = set()
            back = threading.Thread(
                target=self.pass_answers, args=(broker, client, asked), daemon=True
            )
            back.start()
            try:
                pass_requests(client, broker, asked)
            finally:
                cut(client, broker)
                back.join()

    def pass_answers(self, broker: socket.socket, client: socket.socket, asked: set[int]) -> None:
        """Every answer but the lost ones; by the time there is an answer, the broker has the records."""
        with suppress(OSError):
            for frame in frames(broker):
                (correlation,) = struct.unpack_from(">i", frame, 4)
                if correlation in asked and self.tally.loses():
                    break
                asked.discard(correlation)
                client.sendall(frame)
        cut(client, broker)

    def __enter__(self) -> Self:
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        cut(self.server)
        self.server.close()


def pass_requests(client: socket.socket, broker: socket.socket, asked: set[int]) -> None:
    """Every request; the correlation ids of Produce requests are kept for when the answer comes."""
    for frame in frames(client):
        key, _, correlation = struct.unpack_from(">hhi", frame, 4)
        if key == PRODUCE:
            asked.add(correlation)
        broker.sendall(frame)


def cut(*connections: socket.socket) -> None:
    """End them at once, for whoever reads them too."""
    for connection in connections:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
