"""The rows of both sides of a hop, for what only a person can repair."""

from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession

from access.kafka import kafka_connection
from spark.hops import OUTBOX_TO, Hop, Rows
from spark.judging.comparison import path_of
from spark.kafka import positions
from spark.lake.landed_tables import read_landed
from spark.lake.losses import read_accepted
from spark.parts import Part
from spark.repairing.acts import Finding
from spark.rows.frames import (
    Frames,
    derive_frames,
    identify_landed,
    lost_offsets,
    read_ledger,
    remember_forgotten,
)
from spark.rows.retired import remember_retired
from spark.rows.retired_landed import read_retired, set_apart
from spark.rows.snapshot import open_snapshots, read_tables, read_tables_of_extras
from spark.settings import Settings
from spark.topics import Topics, topics_to_land

Side = dict[str, Any]  # side, frame and row


def show_both_sides(
    spark: SparkSession, settings: Settings, parts: Sequence[Part], findings: Sequence[Finding]
) -> dict[Finding, list[Side]]:
    """Return the rows that each finding is about, as they are now."""
    shown: dict[Finding, list[Side]] = {finding: [] for finding in findings}
    topics = topics_to_land(settings, parts)
    password_file = settings.reconciler_password_file
    with open_snapshots(settings.databases(), password_file) as of_database:
        frames = read_tables(spark, settings.subscriber, of_database)
        frames |= read_tables_of_extras(spark, of_database, parts)
        tables = read_landed(spark, settings.delta_root, topics.all())
        frames |= read_lake(spark, settings, topics, tables)
        retired = read_retired(spark, settings.delta_root)
        frames["noted"] = retired.sums
        frames |= remember_forgotten(frames)
        frames |= remember_retired(frames, tables)
        frames |= set_apart(frames, retired)
        frames |= derive_frames(frames, parts)
        for hop in path_of(topics, parts):
            of_hop = [finding for finding in findings if is_of(finding, hop)]
            if of_hop:
                look_at_hop(frames, hop, of_hop, shown)
    return shown


def read_lake(spark: SparkSession, settings: Settings, topics: Topics, tables: DataFrame) -> Frames:
    """Return what has landed, and the offsets whose loss somebody has accepted."""
    admin = AdminClient(kafka_connection(settings.kafka_bootstrap_servers))
    partitions = positions.partitions_of(admin, topics.all())
    current = positions.current_offsets(admin, partitions, last=topics.input)
    losses = [accepted.loss for accepted in read_accepted(spark, settings.delta_root)]
    return {
        "landed": identify_landed(tables, current, topics),
        "lost_offset": lost_offsets(spark, losses),
        "ledger": read_ledger(spark, None),
    }


def is_of(finding: Finding, hop: Hop) -> bool:
    """Return whether a finding is of this hop, which may have a name for each topic."""
    if hop.name_of_row:
        return finding.hop.startswith(OUTBOX_TO)
    return finding.hop == hop.name


def look_at_hop(
    frames: Frames, hop: Hop, findings: Iterable[Finding], shown: dict[Finding, list[Side]]
) -> None:
    """Add the rows of each side of a hop to its findings."""
    of_id = {finding.id: finding for finding in findings}
    for rows in hop.sides:
        if rows.frame not in frames:  # such as every offset that there should be
            continue
        for id_, row in find_rows(frames, rows, list(of_id)):
            shown[of_id[id_]].append({"side": rows.side, "of": rows.frame, "row": row})


def find_rows(frames: Frames, rows: Rows, ids: Sequence[str]) -> list[tuple[str, str]]:
    """Return the rows of one side that have these ids, each as JSON."""
    frame = frames[rows.frame].where(rows.when)
    shown = frame.drop("is_new")
    with_id = shown.selectExpr(f"string({rows.id}) as id", "to_json(struct(*)) as row")
    is_wanted = with_id.id.isin(list(ids))
    found = with_id.where(is_wanted).collect()
    return [(id_, row) for id_, row in found]
