"""The horizon: what was judged so far, and how to tell whether what comes now comes after it.

A run that starts from it judges what was written since, and what was open. It must rest on the
same things: if a database was restored, or a table or a topic replaced, nothing is checked.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark.judging.shares import Share, Sum
from spark.lake.landed_tables import table_path
from spark.rows.snapshot import Moment
from spark.run_id import began_at
from spark.session import locate, make_frame

SCHEMA = "run_id string, subscriber string, content string"


class Version(NamedTuple):
    """A version of a Delta table."""

    table_id: str  # another one, if the table was made again
    number: int


class Horizon(NamedTuple):
    """What a run has judged."""

    run_id: str
    full_run_id: str  # the last run that judged everything
    runs_since_full: int
    orders: int  # how many there were
    judge_all: str  # why the next run judges everything again, if it has to
    moments: Mapping[str, Moment]  # of each database
    read_from: Mapping[str, int]  # of each database: the first transaction to read from now on
    versions: Mapping[str, Version]  # of the landed table of each topic
    topic_ids: Mapping[str, str]
    ends: Mapping[str, int]  # of each topic/partition: all before it was judged
    forgotten: Mapping[str, str]
    losses: int  # that somebody has accepted
    shares: Sequence[Share] | None = None  # of the old; None: an earlier version noted none
    not_checked: int = 0  # ids that were judged, but nothing was left to compare them with
    # Of a part of a database's shares: what was written before may be deleted by retention.
    deleted_before: Mapping[str, Mapping[str, int]] | None = None

    def began_at(self) -> datetime:
        """Return when its run began."""
        return began_at(self.run_id)


class NotCheckedError(Exception):
    """What the horizon rests on is not there any more, or not as it was."""

    def __init__(self, reason: str, horizon: Horizon) -> None:
        """Say what has changed since."""
        super().__init__(
            f"not checked: {reason} since the run of {as_text(horizon.run_id)} UTC; find out why,"
            " then judge everything again: reconcile --full"
        )


class JudgeAllError(Exception):
    """Not an error of anybody's: what is asked for takes a look at everything."""


def describe_horizon(
    horizon: Horizon | None, shares: Iterable[Share] = ()
) -> dict[str, Any] | None:
    """Return what a report says of the horizon from which its run has started."""
    if horizon is None:
        return None
    return {
        "run_id": horizon.run_id,
        "at": as_text(horizon.run_id),
        "everything_at": as_text(horizon.full_run_id),
        "confirmed_at": as_text(find_oldest(horizon.run_id, shares)),
        "runs": horizon.runs_since_full + 1,
    }


def describe_confirmation(run_id: str, shares: Iterable[Share]) -> dict[str, Any]:
    """Return when the oldest of what a run vouches for was last seen as it was judged."""
    oldest = find_oldest(run_id, shares)
    age = began_at(run_id) - began_at(oldest)
    return {"oldest_at": as_text(oldest), "age_seconds": round(age.total_seconds())}


def find_oldest(run_id: str, shares: Iterable[Share]) -> str:
    """Return the run that has confirmed the share which no later one has."""
    return min([run_id, *(share.confirmed for share in shares)])


def list_shares(horizon: Horizon | None) -> Sequence[Share]:
    """Return the shares of the old that a horizon has noted."""
    return (horizon.shares if horizon else None) or []


def as_text(run_id: str) -> str:
    """Return when a run began, as reports say it."""
    return began_at(run_id).strftime("%Y-%m-%d %H:%M:%S")


def horizon_path(delta_root: str) -> str:
    """Return where the horizons are."""
    return f"{delta_root}/reconcile/horizon"


def read_horizon(spark: SparkSession, delta_root: str, subscriber: str) -> Horizon | None:
    """Return the latest horizon of a subscriber."""
    path = horizon_path(delta_root)
    if not DeltaTable.isDeltaTable(spark, path):
        return None
    horizons = spark.read.format("delta").load(path)
    latest = horizons.where(horizons.subscriber == subscriber).orderBy("run_id", ascending=False)
    found = latest.first()
    return parse_horizon(found.content) if found else None


def parse_horizon(text: str) -> Horizon:
    """Return a horizon from its JSON."""
    values: dict[str, Any] = json.loads(text)
    moments = {}
    for name, moment in values["moments"].items():
        moments[name] = Moment(*moment)
    versions = {}
    for topic, version in values["versions"].items():
        versions[topic] = Version(*version)
    noted = values.get("shares")
    shares = None if noted is None else [parse_share(share) for share in noted]
    return Horizon(**values | {"moments": moments, "versions": versions, "shares": shares})


def parse_share(values: Sequence[Any]) -> Share:
    """Return a share from its JSON."""
    share = Share._make(values)
    sums = {part: Sum(*numbers) for part, numbers in share.sums.items()}
    return share._replace(sums=sums)


def write_horizon(spark: SparkSession, delta_root: str, subscriber: str, horizon: Horizon) -> None:
    """Append a horizon: from now on, runs start from it."""
    content = json.dumps(horizon._asdict())
    row = (horizon.run_id, subscriber, content)
    rows = make_frame(spark, [row], SCHEMA)
    rows.write.format("delta").mode("append").save(horizon_path(delta_root))


def replace_horizon(
    spark: SparkSession, delta_root: str, subscriber: str, horizon: Horizon
) -> None:
    """Write a horizon again, in place of the one that the same run has written."""
    table = DeltaTable.forPath(spark, horizon_path(delta_root))
    is_of_run = F.col("run_id") == horizon.run_id
    is_of_subscriber = F.col("subscriber") == subscriber
    content = json.dumps(horizon._asdict())
    table.update(is_of_run & is_of_subscriber, {"content": F.lit(content)})


def reason_to_judge_all(
    horizon: Horizon | None, *, all_every: int, all_orders: int, keep_hours: float
) -> str | None:
    """Return why a run cannot or need not start from a horizon, or None if it does."""
    if all_every <= 1:
        return f"RECONCILE_ALL_EVERY is {all_every}"
    if horizon is None:
        return "there is no earlier run to start from"
    if horizon.orders < all_orders:
        return f"there were {horizon.orders:,} orders, fewer than {all_orders:,}"
    return reason_of_horizon(horizon, keep_hours)


def reason_of_horizon(horizon: Horizon, keep_hours: float) -> str | None:
    """Return why no run can start from this horizon, or None if one can."""
    if horizon.judge_all:
        return f"the last run that did so found that {horizon.judge_all}"
    if horizon.shares is None:
        return "it was not noted what the old adds up to"
    age = datetime.now(UTC) - horizon.began_at()
    if age > timedelta(hours=keep_hours):
        return f"the last run was {age.days} days ago: old files of the lake may be deleted"
    return None


def refuse_other_databases(horizon: Horizon, moments: Mapping[str, Moment]) -> None:
    """Raise an error if a database is not a later state of the one that was judged."""
    for name, moment in moments.items():
        judged = horizon.moments.get(name)
        if judged is None:
            raise JudgeAllError(f"database {name} was not judged before")
        if moment.system != judged.system:
            raise NotCheckedError(f"database {name} is another server's", horizon)
        if moment.timeline != judged.timeline:
            raise NotCheckedError(f"database {name} has failed over or was restored", horizon)
        if next_transaction(moment) < next_transaction(judged):
            raise NotCheckedError(f"database {name} has gone back in time", horizon)


def refuse_other_topics(
    horizon: Horizon, topic_ids: Mapping[str, str], ends: Mapping[str, int]
) -> None:
    """Raise an error if a topic was created again, or ends before what was judged."""
    for topic, topic_id in topic_ids.items():
        judged = horizon.topic_ids.get(topic)
        if judged is None:
            raise JudgeAllError(f"topic {topic} was not judged before")
        if topic_id != judged:
            raise NotCheckedError(f"topic {topic} was deleted and created again", horizon)
    for place, judged_end in horizon.ends.items():
        if ends.get(place, judged_end) < judged_end:
            raise NotCheckedError(f"{place} has lost the offsets up to {judged_end}", horizon)


def refuse_other_tables(horizon: Horizon, versions: Mapping[str, Version]) -> None:
    """Raise an error if a landed table was replaced."""
    for topic, version in versions.items():
        judged = horizon.versions.get(topic)
        if judged is None:
            raise JudgeAllError(f"the table of {topic} was not judged before")
        is_replaced = version.table_id != judged.table_id
        if is_replaced or version.number < judged.number:
            raise NotCheckedError(f"the table of {topic} was replaced", horizon)


def next_transaction(moment: Moment) -> int:
    """Return the first transaction that had not begun at a moment."""
    _, first_unassigned, _ = moment.transactions.split(":")
    return int(first_unassigned)


def first_transaction(moment: Moment) -> int:
    """Return the first transaction that was not over at a moment."""
    first_running, _, _ = moment.transactions.split(":")
    return int(first_running)


def is_new(moment: Moment) -> str:
    """Return SQL for whether a row was written by a transaction that was not over at a moment."""
    _, _, running = moment.transactions.split(":")
    condition = f"written_by >= {next_transaction(moment)}"
    if running:
        condition += f" or written_by in ({running})"
    return f"coalesce({condition}, false)"


def read_version(spark: SparkSession, path: str) -> Version:
    """Return the version that a Delta table has now, and the id of the table.

    Only the JVM tells both at once.
    """
    jvm: Any = spark.sparkContext._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
    none = jvm.scala.Option.empty()
    snapshot = log.update(False, none, none)
    return Version(snapshot.metadata().id(), snapshot.version())


def read_versions(
    spark: SparkSession, delta_root: str, topics: Iterable[str]
) -> dict[str, Version]:
    """Return the versions of the landed tables."""
    return {topic: read_version(spark, table_path(delta_root, topic)) for topic in topics}


def list_versions(spark: SparkSession, path: str) -> dict[int, str]:
    """Return the log files of a Delta table by their versions."""
    files, folder = locate(spark, f"{path}/_delta_log")
    found = {}
    for status in files.listStatus(folder):
        file = status.getPath()
        name, _, kind = file.getName().partition(".")
        if kind == "json" and name.isdigit():
            found[int(name)] = str(file)
    return found


def ends_of(places: Iterable[tuple[tuple[str, int], range]]) -> dict[str, int]:
    """Return the end of each topic/partition."""
    return {f"{topic}/{partition}": offsets.stop for (topic, partition), offsets in places}
