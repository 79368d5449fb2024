"""Who wrote a row, so that reconciliation can read what was written since its last run."""

from collections.abc import Iterable

# The transaction says what time of day cannot: of two rows, one may be visible long before the
# other although it was written later. Rows from before this revision have none: they are old.
# The index has an entry for each few pages: rows stand nearly in the sequence of transactions.
NOTE_WRITER = """
    alter table {table} add column written_by bigint;
    alter table {table} alter column written_by set default pg_current_xact_id()::text::bigint;
    create index {table}_written_by on {table} using brin (written_by) with (pages_per_range = 16);
"""


def note_writer(tables: Iterable[str]) -> str:
    """SQL that has each new row of these tables name its transaction."""
    return "\n".join(NOTE_WRITER.format(table=table) for table in tables)


def forget_writer(tables: Iterable[str]) -> str:
    """SQL that takes that away."""
    return "\n".join(f"alter table {table} drop column written_by;" for table in tables)
