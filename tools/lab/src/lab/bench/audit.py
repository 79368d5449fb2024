"""The audit: the service's POST of 500 entries against one POST for each order, same receiver."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import requests

from access.audit import AuditAccess
from contract.events import ACCEPTED
from contract.names import SUBSCRIBER
from lab.bench.naive import post_one
from lab.bench.numbers import Number, Target, compare
from lab.environment import empty_tables
from lab.reference_orders import FIRST, make_batches
from ops.stack.stack import Stack
from service.handler import split_conflicts
from service.ids import derive
from service.post import Answers, Entry, post_batch, post_entries
from service.record import Message, Record
from service.request import connect

TIMEOUT = 30


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Return the rates of both arms and their ratio."""
    env = stack.env()
    url = env["AUDIT_URL"]
    requests_in_bulk = [make_entries(records) for records in make_batches(orders)]
    few = orders // 40
    events = [make_event(number) for number in range(FIRST, FIRST + few)]
    send = partial(post_batch, connect(AuditAccess(audit_url=url), TIMEOUT))
    post_bulk = partial(post_entries, send, SUBSCRIBER)
    post_single = partial(post_one, requests.Session(), url)
    arms = {
        "in bulk": partial(rate, env, post_bulk, requests_in_bulk, orders),
        "one by one": partial(rate, env, post_single, events, few),
    }
    targets = {"in bulk / one by one": Target(goal=">= 25", must=">= 15")}
    return compare("audit", arms, targets, rounds, stack.step)


def make_entries(records: Sequence[Record]) -> list[Entry]:
    """Return the entries of one batch, all of them fulfilled."""
    [items] = split_conflicts(records)
    return [Entry(item, ACCEPTED) for item in items if isinstance(item, Message)]


def make_event(number: int) -> dict[str, str]:
    """Return what the naive service knows of an order when it posts."""
    return {
        "message_id": f"m-{number}",
        "order_id": f"o-{number}",
        "fulfillment_id": derive("fulfillment", "any"),
        "total": "72.60",
    }


def rate(
    env: dict[str, str],
    send: Callable[[Any], Answers | None],
    parts: Sequence[Any],
    orders: int,
) -> float:
    """Return entries a second over one kept connection."""
    empty_tables(env)
    started = time.perf_counter()
    for part in parts:
        answers = send(part) or {}
        assert not any(answers.values()), "an entry was refused: the rate means nothing"
    return orders / (time.perf_counter() - started)
