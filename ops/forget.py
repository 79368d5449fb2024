"""`pipeline forget`: what a dedup store keeps of messages that cannot come again is deleted, in small transactions."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]  # no __all__
from sqlalchemy import Engine, text
from sqlalchemy.exc import ProgrammingError

from ops.age import format_age, parse_age
from ops.produce import TOPIC
from ops.settings import ROOT
from ops.stack.supervisor import StackError
from service.database import classify_errors, connect_to
from service.dedup import load_store
from service.outage import OutageError

BUDGET = ROOT / "pyproject.toml"
SECONDS = 60.0  # the longest for one batch; the broker has ten


def forget(
    env: Mapping[str, str], name: str, age: float, batch: int, note: Callable[[str], object]
) -> dict[str, Any]:
    """Delete what was handled longer ago than this, and return what was done."""
    statement, done = statement_of(name), list[int]()
    url, file = (
        env["DATABASE_URL"].replace("//app@", "//purger@"),
        Path(env["SECRETS_DIR"], "purger_password"),
    )
    engine = connect_to(url, file, SECONDS)
    try:
        before = the_time(engine, age)
        given = {
            "subscriber": env.get("SUBSCRIBER", "fulfillment"),
            "before": before,
            "limit": batch,
        }
        for gone in batches(engine, statement, given):
            done.append(gone)
            note(f"{sum(done):,} forgotten")
    except OutageError as outage:
        raise StackError(
            f"{outage}; {sum(done):,} are forgotten, the next time goes on from there"
        ) from None
    except ProgrammingError as lacking:
        raise StackError(
            f"the database is not made for it: {str(lacking.orig).splitlines()[0]} (see README)"
        ) from None
    finally:
        engine.dispose()
    return {
        "store": name,
        "before": before.isoformat(),
        "forgotten": sum(done),
        "batches": len(done),
    }


def statement_of(name: str) -> str:
    """How this store forgets, so many rows at a time."""
    try:
        store = load_store(name)
    except SystemExit as unknown:
        raise StackError(str(unknown)) from None
    if not hasattr(store, "FORGET"):
        raise StackError(
            f"DEDUP_STORE={name} keeps nothing for each message: there is nothing to forget"
        )
    return str(store.FORGET)


def refuse_if_young(env: Mapping[str, str], age: float) -> None:
    """A message may come again as long as its topic keeps it, and then as long as a replay takes."""
    bootstrap, topic = env["KAFKA_BOOTSTRAP_SERVERS"], env.get("INPUT_TOPIC", TOPIC)
    kept, replay = retention(bootstrap, topic), longest_replay()
    if age < kept + replay:
        raise StackError(
            f"--older-than {format_age(age)} is too young: {topic} keeps a record for {format_age(kept)}, a replay "
            f"may take {format_age(replay)} more (longest_replay in {BUDGET.name}), and what is forgotten before it "
            f"comes again is handled again: give at least {format_age(kept + replay)}, or --risk-doubles"
        )


def longest_replay() -> float:
    """What the budget says, without the files that its other amounts are read from: the containers have not all."""
    budget = tomllib.loads(BUDGET.read_text(encoding="utf-8"))["tool"]["pipeline"]["budget"]
    return parse_age(str(budget["longest_replay"]))


def retention(bootstrap: str, topic: str) -> float:
    """For how many seconds the broker keeps the records of a topic."""
    admin, asked = (
        AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}),
        ConfigResource("topic", topic),
    )
    try:
        [found] = admin.describe_configs([asked], request_timeout=10).values()
        return int(str(found.result(15)["retention.ms"].value)) / 1000
    except (KafkaException, TimeoutError) as failure:
        raise StackError(
            f"how long {topic} keeps its records cannot be asked of {bootstrap}: {failure}"
        ) from None


def the_time(engine: Engine, age: float) -> datetime:
    """So long ago by the clock that wrote the rows."""
    with classify_errors(), engine.connect() as connection:
        found: datetime = connection.execute(
            text("select now() - make_interval(secs => :age)"), {"age": age}
        ).scalar_one()
    return found


def batches(engine: Engine, statement: str, given: Mapping[str, Any]) -> Iterator[int]:
    """How many rows went, transaction by transaction, until there is none that nobody holds."""
    with engine.connect() as connection:
        while True:
            with classify_errors():
                gone = connection.execute(text(statement), given).rowcount
            if not gone:
                return
            yield gone
