"""`look`: what is not well with the running parts. The clients that it takes are an extra, so they come last."""

from collections.abc import Iterable, Mapping, Sequence

from pipeline_check.live.unseen import cannot_look
from pipeline_check.reading.block import Block
from pipeline_check.rules.finding import Finding

EXTRA = "pip install 'confluent-kafka>=2.16' 'psycopg[binary]>=3.3' 'requests>=2.32'"


def look(
    environment: Mapping[str, str], blocks: Sequence[Block] = (), sql: Iterable[str] = ()
) -> list[Finding]:
    """Every finding about what runs, held against the blocks that were read and the SQL of the migrations."""
    try:
        from pipeline_check.live.looking import look_at  # noqa: PLC0415 - only here are the clients needed
    except ImportError as missing:
        return [
            cannot_look(
                "everything", f"it takes clients, and {missing.name} is not installed", EXTRA
            )
        ]
    return look_at(environment, blocks, sql)
