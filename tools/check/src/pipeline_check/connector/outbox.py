"""One outbox connector, in the words that the rules use."""

import re
from dataclasses import dataclass
from functools import cached_property

from pipeline_check.connector.surroundings import (
    Publication,
    Surroundings,
    Table,
    java_match,
    qualified,
    split_names,
)
from pipeline_check.reading.block import Block
from pipeline_check.rules.finding import Finding, Severity

POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
ROUTER = "io.debezium.transforms.outbox.EventRouter"
DEBEZIUM = "https://debezium.io/documentation/reference/stable/"
HEARTBEAT_QUERY = re.compile(
    r'(?is)\s*(insert\s+into|update|delete\s+from)\s+(?:only\s+)?([\w."]+)'
)


@dataclass(frozen=True)
class Outbox:
    """A connector with an event router, and what is around it."""

    block: Block
    around: Surroundings

    def value(self, key: str, default: str = "") -> str | None:
        """Return what is set, or the default; None where it comes from elsewhere, unjudged."""
        return effective(self.block, key, default)

    def router(self, key: str, default: str = "") -> str | None:
        """Return the same for a key of the event router."""
        return self.value(f"{self.prefix}{key}", default)

    def worker(self, key: str, default: str = "") -> str | None:
        """Return a setting of its worker; None where that cannot be seen."""
        if not self.around.worker:
            return None
        return effective(self.around.worker, key, default)

    def converter(self, key: str) -> str | None:
        """Return the connector's own converter, or else its worker's."""
        return self.value(key) or self.worker(key)

    @cached_property
    def prefix(self) -> str:
        """Return the beginning of the router's keys: "transforms.outbox."."""
        for name in self.transforms:
            if self.block.known(f"transforms.{name}.type") == ROUTER:
                return f"transforms.{name}."
        return ""

    @cached_property
    def transforms(self) -> list[str]:
        """Return the names of the transforms in the order of their use."""
        return split_names(self.value("transforms"))

    @cached_property
    def included(self) -> list[str]:
        """Return the tables that are read, with their schemas.

        A pattern means those of the known tables that it matches.
        """
        written = self.value("table.include.list") or self.value("table.whitelist")
        literal = []
        matched = []
        for name in split_names(written):
            plain = name.replace("\\.", ".")
            if re.fullmatch(r'[\w."]+', plain):
                literal.append(qualified(plain))
        for table in self.around.tables:
            for pattern in split_names(written):
                is_literal = qualified(pattern.replace("\\.", ".")) in literal
                if not is_literal and java_match(pattern, table):
                    matched.append(table)
        return literal + matched

    @property
    def table(self) -> Table | None:
        """Return the outbox table, where its columns are known."""
        _, heartbeat = self.heartbeat
        outboxes = [name for name in self.included if name != heartbeat]
        return self.around.tables.get(outboxes[0]) if len(outboxes) == 1 else None

    @property
    def publication_name(self) -> str | None:
        """Return the publication's name, or the default; None where it comes from elsewhere."""
        return self.value("publication.name", "dbz_publication")

    @property
    def publication(self) -> Publication | None:
        """Return what is published to it, where that is known."""
        return self.around.publications.get(self.publication_name or "")

    @property
    def topics(self) -> list[str]:
        """Return the topics that reach the transforms: Debezium's own, before any routing."""
        prefix = self.value("topic.prefix") or self.value("database.server.name")
        has_own_naming = "topic.naming.strategy" in self.block.settings
        if not prefix or has_own_naming:
            return []
        return [f"{prefix}.{table}" for table in self.included]

    @property
    def heartbeat(self) -> tuple[str, str]:
        """Return operation and table of the heartbeat's query; empty if it is not understood."""
        found = HEARTBEAT_QUERY.match(self.value("heartbeat.action.query") or "")
        if not found:
            return "", ""
        operation, table = found.groups()
        return operation.split()[0].lower(), qualified(table)

    def error(self, rule: str, key: str, message: str, fix: str) -> Finding:
        """Make an error about one setting."""
        return self.finding(rule, Severity.ERROR, key, message, fix)

    def warning(self, rule: str, key: str, message: str, fix: str) -> Finding:
        """Make a warning about one setting."""
        return self.finding(rule, Severity.WARNING, key, message, fix)

    def note(self, rule: str, key: str, message: str, fix: str) -> Finding:
        """Make a note about one setting."""
        return self.finding(rule, Severity.NOTE, key, message, fix)

    def finding(self, rule: str, severity: Severity, key: str, message: str, fix: str) -> Finding:
        """Make a finding about one setting."""
        line = self.block.line_of(key)
        return Finding(rule, severity, self.block.file, line, message, fix, DEBEZIUM)


def effective(block: Block, key: str, default: str) -> str | None:
    """Return what is set, or the default; None where it comes from elsewhere."""
    if key in block.settings:
        return block.known(key)
    return None if block.opaque else default
