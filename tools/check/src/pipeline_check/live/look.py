"""Look at what runs; the clients for that are an extra, so they are imported last."""

from collections.abc import Iterable, Mapping, Sequence

from pipeline_check.live.unseen import cannot_look
from pipeline_check.reading.block import Block
from pipeline_check.rules.finding import Finding

EXTRA = "pip install 'confluent-kafka>=2.16' 'psycopg[binary]>=3.3' 'requests>=2.32'"


def look(
    environment: Mapping[str, str], blocks: Sequence[Block] = (), sql: Iterable[str] = ()
) -> list[Finding]:
    """Return every finding about what runs, beside the blocks and the SQL that were read."""
    try:
        from pipeline_check.live.parts import look_at_parts  # noqa: PLC0415 - needs the clients
    except ImportError as missing:
        why = f"it takes clients, and {missing.name} is not installed"
        return [cannot_look("everything", why, EXTRA)]
    return look_at_parts(environment, blocks, sql)
