"""Kafka's frames, as they come over a socket."""

import socket
from collections.abc import Iterator


def frames(connection: socket.socket) -> Iterator[bytes]:
    """Each whole frame, its four bytes of length in front, until the other side hangs up."""
    with connection.makefile("rb") as stream:
        while len(length := stream.read(4)) == 4:
            body = stream.read(int.from_bytes(length))
            if len(body) < int.from_bytes(length):
                return
            yield length + body
