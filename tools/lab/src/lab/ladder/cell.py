"""One cell: the orders on one step under one fault, up to the end of every hop, then counted."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer

from contract.names import INPUT_TOPIC
from contract.samples import Sample, make_order
from lab.environment import connect_as_admin
from lab.kafka_proxy import AckLosses, KafkaProxy
from lab.ladder.count import Hop, count_hops, last_moment
from lab.ladder.environment import empty
from lab.ladder.fault_plan import FaultPlan, write_plan
from lab.ladder.receivers import lose_answers, store_every_request
from lab.ladder.refusals import list_refused, refuse_commits
from lab.ladder.steps import POST, PRODUCER, WHOLE, fault_points, plan_faults
from lab.ladder.topics import watch_group
from lab.ladder.worker_pool import WorkerPool
from ops.fault_proxy import StubServer, forward
from ops.settings import HOST
from ops.stack.stack import Stack
from ops.stack.supervisor import StackError, until
from ops.topic import reader

WORK_SECONDS = 600  # for the work of one cell
SETTLE_SECONDS = 60
CURRENT_POSITION = "select pg_current_wal_insert_lsn()"
HAVE_PASSED = b"select bool_and(confirmed_flush_lsn >= %s) from pg_replication_slots"


class Cell(NamedTuple):
    """What was measured."""

    step: int
    fault: str
    hops: dict[str, Hop]
    rate: float  # orders a second, from the first one taken to the last event on its topic
    verdict: str = ""  # of reconciliation, where there is one


def measure(  # noqa: PLR0913, PLR0917 - a cell has this many coordinates
    stack: Stack,
    proxy: KafkaProxy,
    step: int,
    fault: str,
    count: int,
    seed: int,
) -> Cell:
    """Measure one cell; the same seed gives the same orders and faults on every step."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    orders = [make_order(rng, "l", number) for number in range(count)]
    message_ids = [str(order.message_id) for order in orders]
    env = cell_env(stack, step, fault)
    empty(stack.env())
    planned = plan_faults(fault, message_ids, seed)
    plan = write_plan(Path(env["FAULT_PLAN"]), planned)
    refuse_commits(env, step, planned)
    lost_acks = fault_points(fault, count).count("ack")
    proxy.losses = AckLosses(lost_acks)
    produce(proxy, orders, idempotent=step >= PRODUCER)
    work(stack, step, env, plan)
    if step >= POST:
        settle(env)
    for name in list_refused(env):
        plan.remove(name)
    left = plan.left() + ["ack"] * (lost_acks - proxy.losses.lost)
    if left:
        names = ", ".join(left)
        raise StackError(f"step {step}, {fault}: these have not happened: {names} (seed {seed})")
    hops = count_hops(env, step, message_ids)
    seconds = last_moment(env) - plan.began()
    return Cell(step, fault, hops, count / seconds)


def cell_env(stack: Stack, step: int, fault: str) -> dict[str, str]:
    """Return the environment of the cell's workers.

    The group is the cell's own, because members of another may still be remembered; the last step
    keeps the usual group, which reconciliation asks.
    """
    plan = stack.settings.run_dir.absolute() / "fault-plan"
    env = stack.env() | {"FAULT_PLAN": str(plan)}
    if step < WHOLE:
        env["GROUP_ID"] = f"ladder-{step}-{fault}"
    return env


def produce(proxy: KafkaProxy, orders: Sequence[Sample], *, idempotent: bool) -> None:
    """Send one order at a time, so that a lost acknowledgement is that of one order."""
    producer = Producer(
        {
            "bootstrap.servers": f"{HOST}:{proxy.port}",
            "partitioner": "murmur2_random",
            "enable.idempotence": idempotent,
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    for order in orders:
        producer.produce(
            INPUT_TOPIC,
            key=order.order_id,
            value=order.value,
            headers=list(order.headers()),
        )
        if producer.flush(60):
            raise StackError(
                f"{order.message_id}: not acknowledged within 60 s, see the broker's log"
            )


def work(stack: Stack, step: int, env: Mapping[str, str], plan: FaultPlan) -> None:
    """Run workers until every order is handled and committed, whatever fails."""
    group = reader(env["KAFKA_BOOTSTRAP_SERVERS"], env["GROUP_ID"])
    with connect_as_admin(dict(env), "DATABASE_URL") as database, group:
        receiver = forward(env["AUDIT_URL"]) if step >= POST else store_every_request(database)
        with StubServer(lose_answers(receiver, plan)) as server:
            pool = WorkerPool(stack, step, {**env, "AUDIT_URL": server.url})
            is_handled = watch_group(group)

            def is_done() -> bool:
                pool.supervise()
                return is_handled()

            try:
                if not until(is_done, WORK_SECONDS):
                    tail = stack.supervisor.tail("worker-1")
                    raise StackError(f"step {step}: not handled within {WORK_SECONDS} s{tail}")
            finally:
                pool.shutdown()


def settle(env: Mapping[str, str]) -> None:
    """Wait until both connectors have published all commits: none of it may reach the next cell."""
    with connect_as_admin(dict(env), "DATABASE_URL") as admin:
        end = admin.execute(CURRENT_POSITION).fetchone()

        def have_passed() -> bool:
            return admin.execute(HAVE_PASSED, end).fetchone() == (True,)

        if not until(have_passed, SETTLE_SECONDS):
            raise StackError(
                f"Debezium has not published every commit within {SETTLE_SECONDS} s: "
                "see the log of connect"
            )
