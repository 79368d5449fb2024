"""The high-water data set through the real broker: marks in Postgres and in Spark."""

import random
import sys
from collections import Counter, defaultdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from contract.names import SUBSCRIBER
from extras.watermark.spark_marks import watermarked
from ops.stack.stack import Stack
from service.database import connect_to
from service.dedup import load_store
from service.handler import Steps, handle
from service.record import Headers, Record, read
from service.write import write
from spark.lake.landed_tables import SCHEMA, read_landed
from spark.landing.landing_query import start_landing
from spark.settings import Settings as SparkSettings
from tests.builders import settle_all, take_all, value
from tests.client import Sent, fresh, query, send, until, until_handled, until_published

RANGES = [(1, 333), (70, 578), (400, 1211), (1000, 1111), (1200, 1711), (1688, 3333), (2567, 3500)]
NUMBERS = [number for first, last in RANGES for number in range(first, last + 1)]
NAMES = [
    "ada",
    "ben",
    "cleo",
    "dora",
    "emil",
    "finn",
    "gwen",
]  # a number's key is that of its remainder
EXPECTED = {name: list(range(n or len(NAMES), 3501, len(NAMES))) for n, name in enumerate(NAMES)}
BATCH = 100
KILLED_AT = 20  # of some fifty batches


class DataSet(NamedTuple):
    """What was sent, where."""

    topic: str
    places: list[tuple[int, int]]

    def number(self, message_id: str) -> int:
        """The number of one of its messages."""
        return int(message_id.removeprefix(f"{self.topic}-"))


@pytest.fixture(scope="module")
def sent(spoiled_stack: Stack) -> DataSet:
    """The ranges on three partitions: the same number is the same message, byte for byte."""
    bootstrap, topic = spoiled_stack.env()["KAFKA_BOOTSTRAP_SERVERS"], fresh("marks")
    admin = AdminClient({"bootstrap.servers": bootstrap})  # held until its answers are there
    for made in admin.create_topics([NewTopic(topic, 3, 1)]).values():
        made.result(30)
    records = []
    for number in NUMBERS:
        message_id, name = f"{topic}-{number}", NAMES[number % len(NAMES)]
        order = value(
            message_id, customer_id=name
        )  # an order of its own, so that whatever passes is fulfilled
        records.append(Sent(message_id, name, order, [("sequence", str(number))]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_BOOTSTRAP_SERVERS", bootstrap)
        return DataSet(topic, send(records, topic))


def out(sent: DataSet) -> list[tuple[str, int]]:
    """Return key and number of each event of this data set, in the sequence of the outbox."""
    asked = """
        select payload->>'customer_id', payload->>'message_id'
        from outbox
        where payload->>'message_id' like %s"""
    return [
        (name, sent.number(message_id))
        for name, message_id in query(f"{asked} order by seq", f"{sent.topic}-%")
    ]


def by_key(found: list[tuple[str, int]]) -> dict[str, list[int]]:
    """The sequence of each key."""
    sequences = defaultdict(list)
    for name, number in found:
        sequences[name].append(number)
    return dict(sequences)


def test_the_data_set_is_the_one_that_is_known(sent: DataSet) -> None:
    """4,858 records on three partitions, 3,500 numbers; new numbers only increase in each."""
    assert (len(NUMBERS), len(set(NUMBERS)), sum(map(len, EXPECTED.values()))) == (4858, 3500, 3500)
    assert len(set(sent.places)) == 4858
    assert {partition for partition, _ in sent.places} == {0, 1, 2}
    highest: dict[int, int] = defaultdict(int)
    seen = set()
    for (partition, _), number in zip(sent.places, NUMBERS, strict=True):
        assert number in seen or number > highest[partition]
        seen.add(number)
        highest[partition] = max(highest[partition], number)


def test_the_service_lets_each_number_pass_once(spoiled: Stack, sent: DataSet) -> None:
    """4,858 in, 3,500 out, 1,358 dropped, each key in its sequence, though it was killed once."""
    own = {
        "DEDUP_STORE": "watermark",
        "INPUT_TOPIC": sent.topic,
        "GROUP_ID": sent.topic,
    }
    env = {**own, "BATCH_RECORDS": str(BATCH)}
    try:
        crashing = [sys.executable, "-m", "tests.e2e.crash", "commit", str(KILLED_AT)]
        spoiled.start("service-2", crashing, env)
        until(
            lambda: spoiled.supervisor.alive("service-2"),
            lambda alive: not alive,
            60,
            "the service still lives",
        )
        before = out(sent)
        assert 0 < len(before) < 3500
        spoiled.start("service-2", env=env)
        until_handled(60, sent.topic, sent.topic)
        [port] = spoiled.part("service-2").ports.values()
        url = f"http://127.0.0.1:{port}/watermarks/{sent.topic}"
        marks = {
            partition: requests.get(f"{url}/{partition}", timeout=10) for partition in range(3)
        }
    finally:
        spoiled.stop("service-2")
    assert out(sent)[: len(before)] == before
    assert by_key(out(sent)) == EXPECTED
    assert query("select count(*) from dead_letter where topic = %s", sent.topic) == [(0,)]
    published = until_published(
        "fulfillment.events", lambda event: event.key.startswith(sent.topic), 3500
    )
    assert len({event.headers["id"] for event in published}) == 3500
    highest = {
        partition: number for (partition, _), number in zip(sent.places, NUMBERS, strict=True)
    }
    assert {n: answer.json()["marks"][SUBSCRIBER] for n, answer in marks.items()} == highest
    assert {answer.headers["Content-Type"] for answer in marks.values()} == {"application/json"}


def test_another_store_has_no_marks_to_show(spoiled: Stack) -> None:
    """The default service answers 404 with what there is."""
    answer = requests.get(f"{spoiled.env()['SERVICE_URL']}/watermarks/order.events/0", timeout=10)
    assert (answer.status_code, answer.text) == (
        404,
        "only /livez, /readyz and /metrics are here\n",
    )


def test_spark_lets_each_number_pass_once(
    spoiled: Stack, spark: SparkSession, sent: DataSet, tmp_path: Path
) -> None:
    """The same numbers from the landed table: 3,500 passed, each key in its sequence."""
    bootstrap = spoiled.env()["KAFKA_BOOTSTRAP_SERVERS"]
    settings = SparkSettings(kafka_bootstrap_servers=bootstrap, delta_root=str(tmp_path))
    start_landing(spark, settings, [sent.topic], once=True).awaitTermination()
    landed = read_landed(spark, settings.delta_root, [sent.topic])
    rows = watermarked(landed, sent.topic).orderBy("partition", "offset").collect()
    assert Counter(row.passed for row in rows) == {True: 3500, False: 1358}
    assert by_key([(row.key.decode(), row.sequence) for row in rows if row.passed]) == EXPECTED


@pytest.fixture
def batches() -> list[list[Record]]:
    """Random numbers, up and down, with and without a good order, in batches of random sizes."""
    seed, topic = 20261122, fresh("random")
    print(f"seed {seed}")  # noqa: T201
    chance = random.Random(seed)  # noqa: S311 - not cryptography
    records = []
    for offset in range(900):
        message_id, number = f"{topic}-{offset}", offset // 3 + chance.randrange(-12, 12)
        good = value(message_id) if chance.random() > 0.1 else b"{"
        numbers = [str(number).encode()] * chance.choice([0, 1, 1, 1, 1, 1, 2])
        headers: Headers = [
            ("message_id", message_id.encode()),
            *(("sequence", text) for text in numbers),
        ]
        records.append(Record(topic, offset % 3, offset // 3, b"key", good, headers))
    cuts = [0, *sorted(chance.sample(range(1, 900), 40)), 900]
    return [records[first:last] for first, last in pairwise(cuts)]


def test_service_and_spark_agree_on_random_numbers(
    spoiled: Stack, spark: SparkSession, batches: list[list[Record]]
) -> None:
    """Disorder, repeats, poison, missing numbers, in any batches: the same records pass."""
    env, topic = spoiled.env(), batches[0][0].topic
    engine = connect_to(env["DATABASE_URL"], Path(env["DATABASE_PASSWORD_FILE"]), 5)
    store = load_store("watermark").make_store(partial(write, engine, topic))
    steps = Steps(store.claim, take_all, settle_all, lambda _: None, store.settle)
    for batch in batches:
        handle(batch, steps._replace(read=partial(read, needs_sequence=True)))
    engine.dispose()
    asked = "select payload->>'message_id' from outbox where payload->>'message_id' like %s"
    effects = {message_id for (message_id,) in query(asked, f"{topic}-%")}
    dead = query(
        """select concat_ws('/', topic, partition, "offset") from dead_letter where topic = %s""",
        topic,
    )

    rows: list[tuple[Any, ...]] = [
        (r.topic, r.partition, r.offset, None, r.key, r.value, r.headers)
        for batch in batches
        for r in batch
    ]
    rows += [
        ("dead-letter.events", 0, n, None, at.encode(), b"{}", None) for n, (at,) in enumerate(dead)
    ]
    found = watermarked(spark.createDataFrame(rows, SCHEMA), topic).collect()
    passed = {dict(map(tuple, row.headers))["message_id"].decode() for row in found if row.passed}
    assert passed == effects
    assert {f"{topic}/{row.partition}/{row.offset}" for row in found if row.passed is None} == {
        at for (at,) in dead
    }
    assert min(len(effects), len(dead), 900 - len(effects) - len(dead)) > 100, (
        "of each kind there is enough"
    )
