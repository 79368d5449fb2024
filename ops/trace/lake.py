"""What has landed and what the last reconciliation says, read without Spark."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import TableNotFoundError

from ops.trace.databases import Position
from spark.run_id import began_at

LANDED = """
    select count(*) as rows
    from landed
    where topic = '{topic}' and partition = {partition} and "offset" = {offset}
"""
OF_KEY = """
    select topic, partition, "offset", headers
    from landed
    where "key" = arrow_cast(X'{key}', 'Binary')
    order by "offset"
"""
LAST_RUN = """
    select run_id, ok, verdict, positions
    from run
    order by run_id desc
    limit 1
"""
LAST_RUNS = """
    select
        max(run_id) as last,
        max(case when ok then run_id end) as last_good
    from run
"""
LAST_RETENTION = """
    select max(run_id) as last
    from retention
"""
RUNS = """
    select run_id, ok, verdict, hops
    from run
    order by run_id desc
    limit {most}
"""
OPEN = """
    select hop, id, outcome, detail
    from outcome
    where run_id = '{run_id}' and id in ({ids})
    order by hop, id
"""

Row = dict[str, Any]


class LastRuns(NamedTuple):
    """When reconciliation and retention have run."""

    last: datetime
    last_good: datetime | None
    last_retention: datetime | None


class LastRun(NamedTuple):
    """A reconciliation, and what it had before it."""

    run_id: str
    verdict: str
    ends: dict[str, int]  # of each topic/partition: what is before them was judged

    def has_judged(self, position: Position) -> bool:
        """Return whether a record had landed when it looked."""
        end = self.ends.get(f"{position.topic}/{position.partition}", 0)
        return position.offset < end


class Run(NamedTuple):
    """What a reconciliation has found."""

    run_id: str
    ok: bool
    verdict: str
    hops: Sequence[Row]  # the counts of each


def count_landed(root: str, position: Position) -> int | None:
    """Return how many landed rows a record has; None if its topic has no table."""
    values = {
        "topic": quote(position.topic),
        "partition": position.partition,
        "offset": position.offset,
    }
    rows = query(f"{root}/landed/{position.topic}", "landed", LANDED.format_map(values))
    return None if rows is None else int(rows[0]["rows"])


def find_landed(root: str, topic: str, key: str, header: str, value: str) -> Position | None:
    """Return where a record was that Kafka has deleted: the first with this key and this header."""
    sql = OF_KEY.format(key=key.encode().hex())
    for row in query(f"{root}/landed/{topic}", "landed", sql) or []:
        headers = {one["key"]: one["value"] for one in row["headers"] or []}
        if headers.get(header) == value.encode():
            return Position(row["topic"], row["partition"], row["offset"])
    return None


def read_last_run(root: str) -> LastRun | None:
    """Return the last reconciliation, if there was one."""
    rows = query(f"{root}/reconcile/run", "run", LAST_RUN)
    if not rows:
        return None
    run = rows[0]
    return LastRun(run["run_id"], run["verdict"], json.loads(run["positions"])["ends"])


def read_last_runs(root: str) -> LastRuns | None:
    """Return when the last run of each was; None if nothing was ever reconciled."""
    rows = query(f"{root}/reconcile/run", "run", LAST_RUNS)
    if not rows or rows[0]["last"] is None:
        return None
    last_good = rows[0]["last_good"]
    retention = query(f"{root}/reconcile/retention", "retention", LAST_RETENTION)
    last_retention = retention[0]["last"] if retention else None
    return LastRuns(
        began_at(rows[0]["last"]),
        began_at(last_good) if last_good else None,
        began_at(last_retention) if last_retention else None,
    )


def read_runs(root: str, most: int) -> list[Run]:
    """Return the last reconciliations, the latest first."""
    runs = []
    for row in query(f"{root}/reconcile/run", "run", RUNS.format(most=most)) or []:
        hops = json.loads(row["hops"])
        run = Run(row["run_id"], row["ok"], row["verdict"], hops)
        runs.append(run)
    return runs


def read_open(root: str, run_id: str, ids: Sequence[str]) -> list[Row]:
    """Return what a reconciliation has found of these ids that is not matched."""
    names = ", ".join(f"'{quote(id_)}'" for id_ in ids)
    sql = OPEN.format(run_id=quote(run_id), ids=names)
    return query(f"{root}/reconcile/outcome", "outcome", sql) or []


def query(path: str, name: str, sql: str) -> list[Row] | None:
    """Return the rows of a query over one table; None if there is no such table."""
    try:
        table = DeltaTable(path)
    except TableNotFoundError:
        return None
    found = QueryBuilder().register(name, table).execute(sql).read_all()
    columns = found.schema.names
    values = [found[column].to_pylist() for column in columns]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def quote(text: str) -> str:
    """Return a text as it stands between quotes in SQL."""
    return text.replace("'", "''")
