"""One cell: the stream of orders on one step under one fault, to the end of every hop, and what is there then."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer

from contract.samples import Sample, make_order
from lab.bench.place import administer
from lab.ladder.count import Hop, hops, last_moment
from lab.ladder.crew import Crew
from lab.ladder.front import book, losing
from lab.ladder.place import clear
from lab.ladder.steps import OUTBOX, POST, PRODUCER, WHOLE, plan, struck
from lab.ladder.strikes import Strikes, lay_out
from lab.ladder.topics import handled
from lab.prove.proxy import Proxy
from lab.prove.tally import Tally
from ops.fault_proxy import Front, forward
from ops.produce import TOPIC
from ops.settings import HOST
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError, until
from ops.topic import reader

SECONDS = 600  # for the work of one cell
PASSED = b"select bool_and(confirmed_flush_lsn >= %s) from pg_replication_slots"


class Cell(NamedTuple):
    """What was measured."""

    step: int
    fault: str
    hops: dict[str, Hop]
    rate: float  # orders a second, from the first in hand to the last event on its topic
    verdict: str = ""  # of reconciliation, where there is one


def measure(stack: Stack, proxy: Proxy, step: int, fault: str, count: int, seed: int) -> Cell:  # noqa: PLR0913, PLR0917
    """The same orders and the same strikes for the same seed, whatever the step."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    orders = [make_order(rng, "l", number) for number in range(count)]
    message_ids = [str(order.message_id) for order in orders]
    clear(stack.env())
    group = (
        {} if step == WHOLE else {"GROUP_ID": f"ladder-{step}-{fault}"}
    )  # its members may still be remembered
    env = stack.env() | {"STRIKES": str(stack.settings.run_dir / "strikes")} | group
    strikes = lay_out(Path(env["STRIKES"]), plan(fault, message_ids, seed))
    proxy.tally = Tally(struck(fault, count).count("ack"))
    produce(proxy, orders, idempotent=step >= PRODUCER)
    work(stack, step, env, strikes)
    if step >= OUTBOX:
        settle(env)
    if left := [*strikes.left(), *["ack"] * (proxy.tally.limit - proxy.tally.lost)]:
        raise StackError(
            f"step {step}, {fault}: these have not struck: {', '.join(left)} (seed {seed})"
        )
    return Cell(
        step, fault, hops(env, step, message_ids), count / (last_moment(env) - strikes.began())
    )


def produce(proxy: Proxy, orders: Sequence[Sample], *, idempotent: bool) -> None:
    """One at a time, so that a lost answer is one order's."""
    named = {
        "bootstrap.servers": f"{HOST}:{proxy.port}",
        "partitioner": "murmur2_random",
        "log_level": 0,
    }
    producer = Producer({**named, "enable.idempotence": idempotent, "linger.ms": 0})
    for order in orders:
        producer.produce(TOPIC, order.value, order.order_id, headers=[*order.headers()])
        if producer.flush(60):
            raise StackError(
                f"{order.message_id}: not acknowledged within 60 s, see the broker's log"
            )


def work(stack: Stack, step: int, env: Mapping[str, str], strikes: Strikes) -> None:
    """Until every order is handled and committed, whatever strikes."""
    group = reader(env["KAFKA_BOOTSTRAP_SERVERS"], env["GROUP_ID"])
    with administer(dict(env), "DATABASE_URL") as database, group:
        target = forward(env["AUDIT_URL"]) if step >= POST else book(database)
        with Front(losing(target, strikes)) as front:
            crew, is_handled = Crew(stack, step, {**env, "AUDIT_URL": front.url}), handled(group)

            def is_done() -> bool:
                crew.tend()
                return is_handled()

            try:
                if not until(is_done, SECONDS):
                    raise StackError(
                        f"step {step}: not handled within {SECONDS} s{stack.supervisor.tail('worker-1')}"
                    )
            finally:
                crew.dismiss()


def settle(env: Mapping[str, str]) -> None:
    """Until both connectors have published all that was committed before: nothing of it may reach the next cell."""
    with administer(dict(env), "DATABASE_URL") as admin:
        end = admin.execute("select pg_current_wal_insert_lsn()").fetchone()
        if not until(lambda: admin.execute(PASSED, end).fetchone() == (True,), 60):
            raise StackError(
                "Debezium has not come as far as the database within 60 s: see the log of connect"
            )
