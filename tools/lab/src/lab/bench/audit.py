"""The audit: the service's POST of 500 entries, and one POST for each order, to the same receiver."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import requests

from lab.bench.naive import post_one
from lab.bench.numbers import Number, compare
from lab.bench.place import FIRST, batches, clear
from ops.stack.stack import Stack
from service.handler import split_conflicts
from service.ids import derive
from service.post import Entry, post, session
from service.record import Message
from service.write import Answers


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Rates of both arms, and how many times the one is the other (15 is the goal, 25 the aim)."""
    numbers, known = (
        range(FIRST, FIRST + orders),
        {"fulfillment_id": derive("fulfillment", "any"), "total": "72.60"},
    )
    events = [{"message_id": f"m-{n}", "order_id": f"o-{n}", **known} for n in numbers]
    bulks = [
        [Entry(m, fulfilled=True) for m in split_conflicts(records)[0] if isinstance(m, Message)]
        for records in batches(orders)
    ]
    env, few = stack.env(), orders // 40
    arms = {
        "in bulk": partial(
            rate, env, partial(post, session(), env["AUDIT_URL"], 30), bulks, orders
        ),
        "one by one": partial(
            rate, env, partial(post_one, requests.Session(), env["AUDIT_URL"]), events[:few], few
        ),
    }
    return compare("audit", arms, {"one by one": ">= 15"}, rounds, stack.step)


def rate(
    env: dict[str, str], give: Callable[[Any], Answers | None], parts: Sequence[Any], orders: int
) -> float:
    """Entries a second, over one kept connection."""
    clear(env)
    started = time.perf_counter()
    for part in parts:
        assert not any((give(part) or {}).values()), "an entry was refused: the rate means nothing"
    return orders / (time.perf_counter() - started)
