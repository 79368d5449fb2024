"""A way to the store on which each commit takes half a second.

On this machine a commit is written within milliseconds of the look whether its number is free; two
drivers then rarely meet. On a network they do.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SLOW_SECONDS = 0.5


def is_commit(request: bytes) -> bool:
    """Return whether these are the first bytes of a request that writes to Delta's log."""
    line, _, _ = request.partition(b"\r\n")
    return line.startswith(b"PUT ") and b"_delta_log/" in line and b".json" in line


async def forward(
    source: asyncio.StreamReader, target: asyncio.StreamWriter, *, is_slow: bool
) -> None:
    """Hand on what comes; hold commits for a while."""
    with suppress(ConnectionError):
        while data := await source.read(1 << 16):
            if is_slow and is_commit(data):
                await asyncio.sleep(SLOW_SECONDS)
            target.write(data)
            await target.drain()
    target.close()


@contextmanager
def slow_way(port: int, store: str) -> Iterator[str]:
    """Listen on a port, and hand on everything to the store; yield the address."""
    host, _, store_port = store.removeprefix("http://").partition(":")

    async def connect(client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        from_store, to_store = await asyncio.open_connection(host, int(store_port))
        await asyncio.gather(
            forward(client, to_store, is_slow=True),
            forward(from_store, answer, is_slow=False),
        )

    async def serve() -> None:
        async with await asyncio.start_server(connect, host, port):
            is_ready.set()
            while not is_over.is_set():
                await asyncio.sleep(0.1)

    is_ready, is_over = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert is_ready.wait(10)
    try:
        yield f"http://{host}:{port}"
    finally:
        is_over.set()
        thread.join(10)
