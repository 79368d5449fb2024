"""What a day leaves behind: rows, bytes and files of everything that could grow."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from contract.names import AUDIT_DATABASE, DATABASE
from lab.environment import connect_as_admin
from lab.faults.observe import Env
from ops.settings import OUTBOXES

MEBIBYTE = 2**20

# Rows as PostgreSQL counts them all the time; bytes with indexes, and with long values.
TABLES = """
    select relname, n_live_tup, pg_total_relation_size(relid)
    from pg_stat_user_tables
    order by relname
"""
LOG_BYTES = "select sum(size) from pg_ls_waldir()"


class Measure(NamedTuple):
    """One thing that was measured of one place: the rows of a table, the files of another."""

    name: str
    place: str
    value: float


def measure_databases(env: Env) -> Iterator[Measure]:
    """Yield rows and bytes of every table, and the bytes of the write-ahead log."""
    for database in (DATABASE, AUDIT_DATABASE):
        with connect_as_admin(dict(env), OUTBOXES[database]) as admin:
            for table, rows, size in admin.execute(TABLES.encode()):
                place = f"{database}.{table}"
                yield Measure("rows", place, rows)
                yield Measure("MiB of tables", place, round(size / MEBIBYTE, 2))
            row = admin.execute(LOG_BYTES.encode()).fetchone()
    assert row is not None  # an aggregate has one row
    yield Measure("MiB of the write-ahead log", "PostgreSQL", round(float(row[0]) / MEBIBYTE, 2))


def measure_lake(delta_root: Path) -> Iterator[Measure]:
    """Yield files, log files and bytes of every Delta table, and the files of everything else."""
    tables = sorted(log.parent for log in delta_root.glob("**/_delta_log"))
    in_tables = 0
    for table in tables:
        place = str(table.relative_to(delta_root))
        log = count(table / "_delta_log")
        data = count(table) - log
        in_tables += data + log
        size = sum(file.stat().st_size for file in files_of(table))
        yield Measure("data files", place, data)
        yield Measure("files of Delta's logs", place, log)
        yield Measure("MiB of the lake", place, round(size / MEBIBYTE, 2))
    yield Measure("other files of the lake", "checkpoint, reports", count(delta_root) - in_tables)


def count(folder: Path) -> int:
    """Return how many files are in a folder and in those below it."""
    return sum(1 for _ in files_of(folder))


def files_of(folder: Path) -> Iterator[Path]:
    """Yield every file below a folder, without the checksums that Hadoop keeps beside them."""
    return (file for file in folder.rglob("*") if file.is_file() and file.suffix != ".crc")


def as_mapping(measures: Iterator[Measure]) -> Mapping[str, Mapping[str, float]]:
    """Return the measures by name and place."""
    found: dict[str, dict[str, float]] = {}
    for name, place, value in measures:
        found.setdefault(name, {})[place] = value
    return found
