"""Ten published defects of such systems, built in again one at a time, on orders of their own."""

import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, Signals
from typing import Any, NamedTuple

from contract.events import DEAD_LETTER
from contract.names import INPUT_TOPIC
from contract.samples import change_fields, make_order
from lab.environment import connect_as_admin
from lab.faults.defective_service import POINT
from lab.faults.facts import Sent
from lab.faults.judge import Finding
from lab.faults.load import load, write_ledger
from lab.faults.site import WORKERS, Site
from lab.faults.slots import check_slots
from lab.faults.strikes import STRIKE_SECONDS
from lab.faults.trial import prefix_of, settle
from ops.orders import make_records
from ops.stack.supervisor import until

ORDERS = 40
RATE = 200.0
SETTLE_SECONDS = 20.0
REFUSED_CUSTOMER = "c-refused"
REFUSE = f"""
    alter table fulfillment
    add constraint no_such_customer check (customer_id <> '{REFUSED_CUSTOMER}') not valid
"""
ACCEPT = "alter table fulfillment drop constraint no_such_customer"
WITHOUT_KEYS = """
    alter table tracking drop constraint tracking_pkey;
    alter table fulfillment drop constraint fulfillment_pkey;
    alter table outbox drop constraint outbox_pkey;
"""
INSERT_ONLY = "alter publication outbox set (publish = 'insert')"
WITH_UPDATES = "alter publication outbox set (publish = 'insert, update')"


class Defect(NamedTuple):
    """What people have written, and what has to happen so that it does harm."""

    name: str
    number: Signals | None = None  # what hits the worker in the gap
    refused: bool = False  # the database refuses one order
    prepare: str = ""  # SQL before it


class Shown(NamedTuple):
    """What a defect has left: the orders that it was given, and what the checker says of them."""

    sent: list[Sent]
    findings: list[Finding]


def build_in(site: Site, defect: Defect) -> Shown:
    """Run the service with a defect, let harm come to it, and judge when the real one is back."""
    prefix = prefix_of(defect.name, 1)
    site.observer.begin(f"{prefix}-")
    with changed_service(site, defect):
        if defect.number:
            site.points.plan(POINT, defect.number)
        sent = send(site, prefix, refused=defect.refused)
        if defect.number:
            assert until(lambda: site.points.struck() is not None, STRIKE_SECONDS), defect.name
        if defect.number == SIGSTOP:
            overtake(site, defect)
        site.points.forget()
        until(lambda: is_handled(site) or not is_alive(site), STRIKE_SECONDS)
    return Shown(sent, settle(site, sent, landed=False, seconds=SETTLE_SECONDS).findings)


@contextmanager
def changed_service(site: Site, defect: Defect) -> Iterator[None]:
    """Have one worker with the defect instead of the real ones, for a block."""
    stack = site.stack
    for name in WORKERS:
        stack.stop(name)
    change(site, defect.prepare)
    if defect.refused:
        change(site, REFUSE)
    stack.start("service", defective(defect))
    yield
    for name in WORKERS:
        stack.stop(name)
    if defect.refused:
        change(site, ACCEPT)
    for name in WORKERS:
        stack.start(name)


def defective(defect: Defect) -> list[str]:
    """Return the command of a service with this defect."""
    return [sys.executable, "-m", "lab.faults.defective_service", defect.name]


def change(site: Site, sql: str) -> None:
    """Change the service's database."""
    with connect_as_admin(site.stack.env(), "DATABASE_URL") as admin:
        admin.execute(sql.encode())


def send(site: Site, prefix: str, *, refused: bool = False) -> list[Sent]:
    """Send orders, the last of which the database may refuse, and return what was acknowledged."""
    samples = make_records(1, prefix, ORDERS)
    if refused:
        another = make_order(random.Random(1), f"{prefix}-refused", 1)  # noqa: S311 - repeatable
        changed = change_fields(customer_id=REFUSED_CUSTOMER)(another)
        samples.append(
            changed._replace(kind="invalid", expected=DEAD_LETTER, reason="refused by the database")
        )
    with load(site.address("producer-kafka"), samples, RATE) as sending:
        pass
    write_ledger(sending.sent, Path(site.stack.env()["LEDGER_ROOT"], f"{prefix}.jsonl"))
    return sending.sent


def overtake(site: Site, defect: Defect) -> None:
    """Let another worker do what a frozen one has begun, then let that one go on."""
    site.stack.start("service-2", defective(defect))
    assert until(lambda: is_handled(site), STRIKE_SECONDS), "nobody has taken over"
    frozen = site.points.struck()
    assert frozen is not None
    os.killpg(frozen, SIGCONT)


def is_handled(site: Site) -> bool:
    """Return whether everything on the topic is committed."""
    ends = {number: end for (_, number), (_, end) in site.observer.ends([INPUT_TOPIC]).items()}
    return site.observer.committed(ends) == ends


def is_alive(site: Site) -> bool:
    """Return whether the worker with the defect still runs."""
    return site.stack.supervisor.alive("service")


def lose_checkpoint_under_one_id(site: Site) -> Shown:
    """Land under one fixed transaction id, lose the checkpoint, and land again."""
    prefix = prefix_of("one-transaction-id", 1)
    site.observer.begin(f"{prefix}-")
    command = [sys.executable, "-m", "lab.faults.defective_landing", "--once"]
    site.stack.run("land-defective", command)
    sent = send(site, prefix)
    settle(site, sent, landed=False)
    shutil.rmtree(Path(site.stack.env()["DELTA_ROOT"], "checkpoint"))
    site.stack.run("land-defective", command)
    return Shown(sent, settle(site, sent, landed=True, seconds=1).findings)


def publish_inserts_alone(site: Site) -> Shown:
    """Publish no update: the heartbeat does not reach the connector, and its slot stands still."""
    change(site, INSERT_ONLY)
    try:
        return Shown([], check_slots(site.stack.env()))
    finally:
        change(site, WITH_UPDATES)


def service_with(name: str, **more: Any) -> Callable[[Site], Shown]:
    """Return how a defect of the service is built in."""
    return partial(build_in, defect=Defect(name, **more))


class Published(NamedTuple):
    """A defect that others have published, and who must find it."""

    invariant: str  # by which the checker finds it
    build_in: Callable[[Site], Shown]
    is_reconciled: bool = True  # reconciliation finds it, too


# The last one spoils the tables for whatever comes after it.
DEFECTS = {
    "offset committed before the work": Published(
        "I2", service_with("commit-first", number=SIGKILL)
    ),
    "tracking in a transaction of its own": Published(
        "I4", service_with("track-apart", number=SIGKILL)
    ),
    "publish inside the transaction, then roll back": Published(
        "I7", service_with("publish-within", refused=True)
    ),
    "POST inside the transaction, then roll back": Published(
        "I11", service_with("post-within", refused=True)
    ),
    # Within one run each event has one id; only who derives it again sees that it is another.
    "random event ids": Published("I4", service_with("random-ids"), is_reconciled=False),
    "auto-commit on a timer": Published("I2", service_with("commit-on-a-timer", number=SIGKILL)),
    "a poison record that is logged and skipped": Published("I16", service_with("skip-poison")),
    # Nothing is lost, until the log that Postgres keeps for the slot fills the disk.
    "heartbeat with an insert-only publication": Published(
        "I20", publish_inserts_alone, is_reconciled=False
    ),
    "a fixed transaction id with a lost checkpoint": Published("I12", lose_checkpoint_under_one_id),
    "check, then insert": Published(
        "I4", service_with("check-then-insert", number=SIGSTOP, prepare=WITHOUT_KEYS)
    ),
}
