"""How an application of a peer gets its orders: one on a line, from a socket of the lab.

It runs in the peers' environments, which have nothing of ours.
"""

import asyncio
import json
import os
import socket
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

HOST = "127.0.0.1"
WRITERS = 8  # transactions at once, as requests come to a web service

Order = dict[str, Any]
Connection = TypeVar("Connection")


def port() -> int:
    """Return where the lab hands out the orders."""
    return int(os.environ["ORDERS_PORT"])


async def write_each(write: Callable[[Order], Awaitable[None]]) -> None:
    """Write every order, several at once."""
    lines, connection = await asyncio.open_connection(HOST, port())
    turn = asyncio.Lock()

    async def next_line() -> bytes:
        async with turn:
            return await lines.readline()

    async def work() -> None:
        while line := await next_line():
            await write(json.loads(line))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(WRITERS):
            tasks.create_task(work())
    connection.close()
    await connection.wait_closed()


def write_each_in_threads(
    connect: Callable[[], AbstractContextManager[Connection]],
    write: Callable[[Connection, Order], None],
) -> None:
    """Write every order, several at once, each thread over a connection of its own."""
    turn = threading.Lock()
    with (
        socket.create_connection((HOST, port())) as connection,
        connection.makefile("rb") as lines,
        ThreadPoolExecutor(WRITERS) as pool,
    ):

        def next_line() -> bytes:
            with turn:
                return lines.readline()

        def work() -> None:
            with connect() as database:
                while line := next_line():
                    write(database, json.loads(line))

        working = [pool.submit(work) for _ in range(WRITERS)]
        for each in working:
            each.result()
