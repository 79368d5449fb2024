"""One database as it was seen, and the way to ask for more."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg

from pipeline_check.connector.surroundings import Surroundings


@dataclass(frozen=True)
class Database:
    """What was asked of one database, and the way to ask for more."""

    name: str
    writer: str  # who writes the outbox: the role in the URL
    session: "psycopg.Connection[Any]"
    around: Surroundings
    settings: Mapping[str, str]
    slots: list[dict[str, Any]] = field(default_factory=list)

    @property
    def place(self) -> str:
        """How findings call it."""
        return f"postgres/{self.name}"

    def ask(self, query: str, *values: Any) -> Any:
        """The one value that a query gives."""
        row = self.session.execute(query.encode(), values).fetchone()
        return row[0] if row else None
