"""The arms: this template, and other outboxes as their own pages set them up."""

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from lab.peers.environments import Version, make_environment
from lab.peers.live import Live
from lab.peers.peer import HERE, Peer, run_peer
from lab.peers.template import run_template
from ops.settings import ROOT
from ops.stack.stack import Stack

TEMPLATE = "template"
OURS: Version = (3, 11)
FASTSTREAM_PACKAGES = ("faststream-outbox", "faststream", "aiokafka", "asyncpg", "sqlalchemy")
MESSAGEKIT_PACKAGES = ("messagekit", "asyncpg", "sqlalchemy")
ACKS = 'KafkaBroker has acks="all", as every arm here; its default is 1.'
# What its page on performance measures.
BATCHED = json.dumps({"fetch_batch_size": 100, "terminal_flush_batch_size": 100})

Run = Callable[[Stack, Path, int], AbstractContextManager[Live]]


@dataclass(frozen=True)
class Arm:
    """One outbox: what it is, how it is set up, and where that is not word for word its page."""

    name: str
    what: str
    topic: str
    shown: Mapping[str, str]  # its configuration: texts by their titles
    run: Run
    differs: tuple[str, ...] = ()
    folder: str = ""  # with the requirements; an arm without them runs in our own environment
    least: Version = OURS
    packages: tuple[str, ...] = ()  # whose versions are said

    def python(self, cache: Path) -> Path:
        """Return the Python that runs it, in an environment that is made if need be."""
        if not self.folder:
            return Path(sys.executable)
        return make_environment(cache, HERE / self.folder / "requirements.txt", self.least)


def read(folder: Path, *names: str) -> dict[str, str]:
    """Return files of a folder by their names."""
    return {name: (folder / name).read_text().strip() for name in names}


FASTSTREAM = Peer(
    folder="faststream_outbox",
    topic="orders",
    relay=["faststream", "run", "lab.peers.faststream_outbox.relay:app"],
    written="select count(*) from purchase_order",
    waiting="select count(*) from outbox",
)
MESSAGEKIT = Peer(
    folder="messagekit",
    topic="outbox.event.orders.order.created",  # the default of the router, and the event's type
    written="select count(*) from purchase_order",
)
DEBEZIUM = Peer(
    folder="debezium",
    topic="Order.events",
    written="select count(*) from inventory.purchaseorder",
)
POLLING = Peer(
    folder="polling",
    topic="polling.orders",
    relay=["lab.peers.polling.relay"],
    written="select count(*) from purchase_order",
    waiting="select count(*) from outbox where published_at is null",
)

EACH = (
    Arm(
        name=TEMPLATE,
        what=(
            "This template with ADOPT=outbox, which leaves the audit out. An order comes as a"
            " record of order.events, is written with its tracking, and Debezium publishes."
        ),
        topic="fulfillment.events",
        shown=read(ROOT / "connect", "fulfillment-outbox.json", "worker.properties"),
        run=partial(run_template, {}),
    ),
    Arm(
        name=f"{TEMPLATE}-order-by-order",
        what=(
            "This template with ADOPT=outbox and BATCH_RECORDS=1: one order in a transaction, as in"
            " the arms below, but one transaction after the other."
        ),
        topic="fulfillment.events",
        shown=read(ROOT / "connect", "fulfillment-outbox.json", "worker.properties"),
        run=partial(run_template, {"BATCH_RECORDS": "1"}),
    ),
    Arm(
        name="faststream-outbox",
        what=(
            "faststream-outbox, by the quickstart of its README: a relay that claims rows,"
            " publishes each and deletes it. LISTEN/NOTIFY wakes it."
        ),
        topic=FASTSTREAM.topic,
        shown=read(HERE / "faststream_outbox", "relay.py"),
        differs=(ACKS,),
        run=partial(run_peer, FASTSTREAM),
        folder=FASTSTREAM.folder,
        packages=FASTSTREAM_PACKAGES,
    ),
    Arm(
        name="faststream-outbox-batched",
        what=(
            "faststream-outbox with the settings that its page on performance measures: a hundred"
            " rows are claimed at once, and a hundred deleted at once."
        ),
        topic=FASTSTREAM.topic,
        shown=read(HERE / "faststream_outbox", "relay.py") | {"SUBSCRIBER_SETTINGS": BATCHED},
        differs=(ACKS,),
        run=partial(
            run_peer,
            replace(FASTSTREAM, settings={"SUBSCRIBER_SETTINGS": BATCHED}),
        ),
        folder=FASTSTREAM.folder,
        packages=FASTSTREAM_PACKAGES,
    ),
    Arm(
        name="messagekit",
        what=(
            "messagekit, by its pages on the transactional outbox and on Debezium: it writes the"
            " outbox and leaves publishing to Debezium, on the worker of its compose file."
        ),
        topic=MESSAGEKIT.topic,
        shown=read(HERE / "messagekit", "connector.json", "worker.properties"),
        differs=(
            "topic.prefix, and not database.server.name, which Debezium 2.0 gave up.",
            (
                "outbox_events and event_id, as the library names its table and its id; its page"
                " on Debezium has outbox_event_record and id, which the library does not make."
            ),
        ),
        run=partial(run_peer, MESSAGEKIT),
        folder=MESSAGEKIT.folder,
        least=(3, 12),
        packages=MESSAGEKIT_PACKAGES,
    ),
    Arm(
        name="debezium",
        what=(
            "The outbox example of Debezium with its defaults. Its order service is in Java, and"
            " written again in Python: the event is deleted in the transaction that inserts it."
        ),
        topic=DEBEZIUM.topic,
        shown=read(HERE / "debezium", "connector.json", "worker.properties"),
        differs=(
            (
                "plugin.name=pgoutput, which every PostgreSQL has; the image of the example brings"
                " decoderbufs, the default."
            ),
            "One event for an order, where the example sends a second one, an invoice.",
            "No interceptor for traces.",
        ),
        run=partial(run_peer, DEBEZIUM),
    ),
    Arm(
        name="polling",
        what=(
            "A polling publisher as tutorials write it: a hundred unpublished rows for update skip"
            " locked, produced, flushed and marked; where there are none, it sleeps for a second."
        ),
        topic=POLLING.topic,
        shown=read(HERE / "polling", "relay.py"),
        run=partial(run_peer, POLLING),
    ),
)
ARMS = {arm.name: arm for arm in EACH}
