"""`pipeline forget`: delete what a dedup store keeps of old messages, in small transactions."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]  # no __all__
from sqlalchemy import Engine, text

from access.kafka import kafka_connection
from contract.age import BUDGET, format_age, longest_replay
from ops.settings import Env
from ops.stack.supervisor import StackError
from ops.topic import refuse_without_topic
from service.database import classify_errors, connect_to
from service.dedup import load_store
from service.outage import OutageError, RefusedError

SECONDS = 60.0  # the longest for one batch; the broker has ten


def forget(
    env: Env,
    name: str,
    age: float,
    batch: int,
    note: Callable[[str], object],
) -> dict[str, Any]:
    """Delete what was handled longer ago than this, and return what was done."""
    statement = load_statement(name)
    url = env["DATABASE_URL"].replace("//app@", "//purger@")
    password_file = Path(env["SECRETS_DIR"], "purger_password")
    engine = connect_to(url, password_file, SECONDS)
    forgotten = 0
    batch_count = 0
    try:
        before = read_clock(engine, age)
        parameters = {
            "subscriber": env["SUBSCRIBER"],
            "before": before,
            "limit": batch,
        }
        for count in batches(engine, statement, parameters):
            forgotten += count
            batch_count += 1
            note(f"{forgotten:,} forgotten")
    except OutageError as outage:
        raise StackError(
            f"{outage}; {forgotten:,} are forgotten, the next run goes on from there"
        ) from None
    except RefusedError as refusal:
        raise StackError(
            f"the database has no tables for DEDUP_STORE={name}: {refusal} "
            "(run python -m migrations upgrade)"
        ) from None
    finally:
        engine.dispose()
    return {
        "store": name,
        "before": before.isoformat(),
        "forgotten": forgotten,
        "batches": batch_count,
    }


def load_statement(name: str) -> str:
    """Return how this store forgets, a limited number of rows at a time."""
    store = load_store(name)
    if not hasattr(store, "FORGET"):
        raise StackError(
            f"DEDUP_STORE={name} keeps nothing for each message: there is nothing to forget"
        )
    return str(store.FORGET)


def refuse_tracking(name: str) -> None:
    """Refuse what retention does better: it deletes what is judged and cannot be read again."""
    if name == "tracking":
        raise StackError(
            "pipeline retention deletes old rows of tracking, when they are judged and their "
            "records are gone from the topic: run that, or forget --risk-doubles, which asks for "
            "neither"
        )


def refuse_if_young(env: Env, age: float) -> None:
    """Refuse an age at which a message may come again.

    It may come as long as its topic keeps it, and then as long as a replay takes.
    """
    topic = env["INPUT_TOPIC"]
    kept = retention(env["KAFKA_BOOTSTRAP_SERVERS"], topic)
    replay = longest_replay()
    least = kept + replay
    if age >= least:
        return
    raise StackError(
        f"--older-than {format_age(age)} is too young: "
        f"{topic} keeps a record for {format_age(kept)}, "
        f"a replay may take {format_age(replay)} more (longest_replay in {BUDGET.name}), "
        "and what comes again after that is known by its fulfillment or rejection alone: "
        f"give at least {format_age(least)}, or --risk-doubles"
    )


def retention(bootstrap: str, topic: str) -> float:
    """Return for how many seconds the broker keeps the records of a topic."""
    admin = AdminClient({**kafka_connection(bootstrap), "log_level": 0})
    refuse_without_topic(admin, bootstrap, topic)
    asked = ConfigResource("topic", topic)
    try:
        answers = admin.describe_configs([asked], request_timeout=10)
        settings = answers[asked].result(15)
        milliseconds = str(settings["retention.ms"].value)
    except (KafkaException, TimeoutError) as failure:
        raise StackError(
            f"the broker at {bootstrap} does not say how long {topic} keeps its records: {failure}"
        ) from None
    return int(milliseconds) / 1000


def read_clock(engine: Engine, age: float) -> datetime:
    """Return the time of this age ago, by the clock that wrote the rows."""
    query = text("select now() - make_interval(secs => :age)")
    with classify_errors(), engine.connect() as connection:
        result = connection.execute(query, {"age": age})
        found: datetime = result.scalar_one()
    return found


def batches(engine: Engine, statement: str, parameters: Mapping[str, Any]) -> Iterator[int]:
    """Yield how many rows each transaction deleted, until no row is left that nobody has locked."""
    query = text(statement)
    with engine.connect() as connection:
        while True:
            with classify_errors():
                result = connection.execute(query, parameters)
            if not result.rowcount:
                return
            yield result.rowcount
