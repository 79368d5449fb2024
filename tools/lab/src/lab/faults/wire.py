"""A wire: one hop of the path through a port of ours, where it can be cut, muted, slowed or robbed.

Nothing of the parts knows of it: each is told that the other is where the wire is.
"""

import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Protocol, Self

from lab.faults.kafka_errors import HEAD, Request, read_number, read_request, with_errors
from lab.kafka_proxy import hang_up, start_accepting
from ops.settings import HOST

CHUNK = 64 * 1024
Wanted = Callable[[bytes], bool]


class Way(Enum):
    """In which direction bytes go."""

    REQUEST = "request"
    ANSWER = "answer"


class Pair:
    """One client's connection, and the connection that was made for it."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.ends = {Way.REQUEST: (client, server), Way.ANSWER: (server, client)}

    def hang_up(self) -> None:
        """End both."""
        hang_up(*self.ends[Way.REQUEST])


class HangUpError(Exception):
    """Raised where a connection ends."""


class Damage(Protocol):
    """What is wrong with a wire at the moment; `hits` counts how often that did any harm."""

    hits: int

    def pass_on(self, pair: Pair, way: Way, data: bytes) -> Iterator[bytes]:
        """Yield what goes on of these bytes, or raise HangUpError."""


@dataclass
class Nothing:
    """Everything goes on."""

    hits: int = 0

    def pass_on(self, _pair: Pair, _way: Way, data: bytes) -> Iterator[bytes]:
        """Yield all of it."""
        yield data


@dataclass
class Refuse:
    """Nobody is let in, and who was in is thrown out."""

    hits: int = 0

    def pass_on(self, _pair: Pair, _way: Way, _data: bytes) -> Iterator[bytes]:
        """Hang up."""
        self.hits += 1
        raise HangUpError


@dataclass
class Mute:
    """A black hole: bytes go in, none come out, and nobody hangs up until it is over."""

    hits: int = 0

    def pass_on(self, _pair: Pair, _way: Way, _data: bytes) -> Iterator[bytes]:
        """Yield nothing."""
        self.hits += 1
        yield from ()


@dataclass
class Drip:
    """A few bytes at a time."""

    bytes_per_second: int
    hits: int = 0
    is_over: threading.Event = field(default_factory=threading.Event)

    def pass_on(self, _pair: Pair, _way: Way, data: bytes) -> Iterator[bytes]:
        """Yield it in ten pieces a second, until it is over."""
        self.hits += 1
        size = max(1, self.bytes_per_second // 10)
        for start in range(0, len(data), size):
            if not self.is_over.is_set():
                time.sleep(0.1)
            yield data[start : start + size]


@dataclass
class LoseAnswer:
    """The server does what was asked, and its answer is lost with the connection.

    What the client gets `instead` may be nothing, or an answer of our own.
    """

    is_request: Wanted
    instead: bytes = b""
    limit: int = 1
    hits: int = 0
    asked: set[Pair] = field(default_factory=set)

    def pass_on(self, pair: Pair, way: Way, data: bytes) -> Iterator[bytes]:
        """Hang up instead of passing on the answer to a wanted request."""
        if way is Way.REQUEST and self.is_request(data):
            self.asked.add(pair)
        elif way is Way.ANSWER and self.is_due(pair):
            self.hits += 1
            yield self.instead
            raise HangUpError
        yield data

    def is_due(self, pair: Pair) -> bool:
        """Return whether an answer on this connection may get lost."""
        return pair in self.asked and self.hits < self.limit


@dataclass
class ChangeAnswer:
    """A Kafka broker does what was asked, and its answer carries an error of ours."""

    api_key: int
    code: int
    limit: int = 1
    hits: int = 0
    asked: dict[Pair, dict[int, Request]] = field(default_factory=lambda: defaultdict(dict))

    def pass_on(self, pair: Pair, way: Way, data: bytes) -> Iterator[bytes]:
        """Yield all of it, the wanted answers with the error."""
        for frame in split_frames(data):
            yield self.remember(pair, frame) if way is Way.REQUEST else self.change(pair, frame)

    def remember(self, pair: Pair, frame: bytes) -> bytes:
        """Keep in mind that an answer to change will come."""
        is_wanted = frame[4:6] == self.api_key.to_bytes(2, "big")
        if is_wanted and len(frame) >= HEAD + 2:
            request = read_request(frame)
            self.asked[pair][request.number] = request
        return frame

    def change(self, pair: Pair, frame: bytes) -> bytes:
        """Return the answer with the error, if it is a wanted one and not beyond the limit."""
        is_whole = len(frame) > HEAD and len(frame) == 4 + int.from_bytes(frame[:4])
        request = self.asked[pair].pop(read_number(frame), None) if is_whole else None
        if request is None or self.hits == self.limit:
            return frame
        self.hits += 1
        return with_errors(request, frame, self.code)


def split_frames(data: bytes) -> Iterator[bytes]:
    """Yield Kafka's frames, and what is left of a frame that goes on in the next bytes."""
    while data:
        end = 4 + int.from_bytes(data[:4])
        yield data[:end]
        data = data[end:]


@dataclass
class Witness:
    """Everything goes on, and each answer with these bytes is counted."""

    text: bytes
    hits: int = 0

    def pass_on(self, _pair: Pair, way: Way, data: bytes) -> Iterator[bytes]:
        """Yield all of it."""
        if way is Way.ANSWER and self.text in data:
            self.hits += 1
        yield data


class Wire:
    """Listens on a port of its own and connects each client with the server's."""

    def __init__(self, server_port: int) -> None:
        self.listener = socket.create_server((HOST, 0))
        self.port: int = self.listener.getsockname()[1]
        self.server_port = server_port
        self.damage: Damage = Nothing()
        self.pairs: set[Pair] = set()

    def cut(self) -> int:
        """Hang up on everybody, and return how many there were."""
        pairs = list(self.pairs)
        for pair in pairs:
            pair.hang_up()
        return len(pairs)

    def heal(self) -> None:
        """Pass everything on again; who has lost bytes is disconnected."""
        self.damage = Nothing()
        self.cut()

    def serve(self, client: socket.socket) -> None:
        """Connect one client with the server; when one side hangs up, so does the other."""
        if isinstance(self.damage, Refuse):
            self.damage.hits += 1
            client.close()
            return
        address = (HOST, self.server_port)
        with client, suppress(OSError), socket.create_connection(address) as server:
            for connection in (client, server):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connect(Pair(client, server))

    def connect(self, pair: Pair) -> None:
        """Pass bytes on in both directions until one side hangs up."""
        self.pairs.add(pair)
        answering = threading.Thread(target=self.pump, args=(pair, Way.ANSWER), daemon=True)
        answering.start()
        self.pump(pair, Way.REQUEST)
        answering.join()
        self.pairs.discard(pair)

    def pump(self, pair: Pair, way: Way) -> None:
        """Pass bytes on in one direction."""
        source, target = pair.ends[way]
        with suppress(OSError, HangUpError):
            while data := source.recv(CHUNK):
                for piece in self.damage.pass_on(pair, way, data):
                    target.sendall(piece)
        pair.hang_up()

    def __enter__(self) -> Self:
        start_accepting(self.listener, self.serve)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        hang_up(self.listener)
        self.listener.close()
        self.cut()
