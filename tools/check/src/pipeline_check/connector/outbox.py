"""One outbox connector, in the words that the rules use."""

import re
from dataclasses import dataclass
from functools import cached_property

from pipeline_check.connector.patterns import matches, names
from pipeline_check.connector.surroundings import Publication, Surroundings, Table, qualified
from pipeline_check.reading.block import Block
from pipeline_check.rules.finding import Finding, Severity

POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
ROUTER = "io.debezium.transforms.outbox.EventRouter"
DEBEZIUM = "https://debezium.io/documentation/reference/stable/"


@dataclass(frozen=True)
class Outbox:
    """A connector with an event router, and what stands beside it."""

    block: Block
    around: Surroundings

    def value(self, key: str, default: str = "") -> str | None:
        """What is set, or the default; None where it comes from elsewhere, and so is not judged."""
        return effective(self.block, key, default)

    def router(self, key: str, default: str = "") -> str | None:
        """The same for a key of the event router."""
        return self.value(f"{self.prefix}{key}", default)

    @cached_property
    def prefix(self) -> str:
        """Where the router's keys begin: "transforms.outbox."."""
        types = (f"transforms.{name}.type" for name in self.transforms)
        return next(
            (key.removesuffix("type") for key in types if self.block.known(key) == ROUTER), ""
        )

    @cached_property
    def transforms(self) -> list[str]:
        """The names of the transforms, as they are applied."""
        return names(self.value("transforms"))

    @cached_property
    def included(self) -> list[str]:
        """The tables that are read, with their schemas; patterns only as far as the tables beside it match them."""
        written = self.value("table.include.list") or self.value("table.whitelist") or ""
        plain = [name.replace("\\.", ".") for name in names(written)]
        literal = [qualified(name) for name in plain if re.fullmatch(r'[\w."]+', name)]
        patterns = [
            name for name in names(written) if qualified(name.replace("\\.", ".")) not in literal
        ]
        return literal + [
            table for table in self.around.tables for one in patterns if matches(one, table)
        ]

    @property
    def table(self) -> Table | None:
        """The outbox table, where its columns are known."""
        outboxes = [name for name in self.included if name != self.heartbeat[1]]
        return self.around.tables.get(outboxes[0]) if len(outboxes) == 1 else None

    @property
    def publication(self) -> Publication | None:
        """What is published to it, where that is known."""
        return self.around.publications.get(self.value("publication.name", "dbz_publication") or "")

    @property
    def topics(self) -> list[str]:
        """The topics that reach the transforms: Debezium's own, before any routing."""
        prefix = self.value("topic.prefix") or self.value("database.server.name")
        own_naming = "topic.naming.strategy" in self.block.settings
        return [f"{prefix}.{table}" for table in self.included] if prefix and not own_naming else []

    @property
    def heartbeat(self) -> tuple[str, str]:
        """The operation and the table of the heartbeat's action; empty where there is none to be understood."""
        query = self.value("heartbeat.action.query") or ""
        found = re.match(
            r'(?is)\s*(insert\s+into|update|delete\s+from)\s+(?:only\s+)?([\w."]+)', query
        )
        return (found[1].split()[0].lower(), qualified(found[2])) if found else ("", "")

    def worker(self, key: str, default: str = "") -> str | None:
        """A setting of its worker; None where that cannot be seen."""
        return effective(self.around.worker, key, default) if self.around.worker else None

    def converter(self, key: str) -> str | None:
        """The connector's own converter, or else its worker's."""
        return self.value(key) or self.worker(key)

    def finding(self, rule: str, severity: Severity, key: str, message: str, fix: str) -> Finding:
        """What a rule has to say about one setting."""
        return Finding(
            rule, severity, self.block.file, self.block.line_of(key), message, fix, DEBEZIUM
        )


def effective(block: Block, key: str, default: str) -> str | None:
    """What is set, or the default; None where it comes from elsewhere."""
    unseen = block.opaque and key not in block.settings
    return None if unseen else block.known(key) if key in block.settings else default
