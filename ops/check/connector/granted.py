"""The privileges that the SQL of migrations gives."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ops.check.connector.ddl import without_comments

GRANT = re.compile(
    r"\bgrant\s+([\w\s,()]{1,200}?)\s+on\s+(?:table\s+)?([\w\s,.\"%]{1,400}?)\s+to\s+([\w\s,{}]{1,200}?)\s*(?=;|\"|')",
    re.IGNORECASE,
)


class Grant(NamedTuple):
    """One privilege, perhaps on one column, that the migrations give to a role."""

    privilege: str
    column: str
    object: str
    role: str


def grants(texts: Iterable[str]) -> list[Grant]:
    """Every privilege that is granted by name; a placeholder such as {writer} is nobody that we know."""
    found = []
    for match in (match for text in texts for match in GRANT.finditer(without_comments(text))):
        for privilege in re.findall(r"(\w+)\s*(?:\(([^)]*)\))?\s*(?:,|$)", match[1]):
            for thing in match[2].split(","):
                for role in match[3].split(","):
                    if role.strip().isidentifier():
                        columns = privilege[1].split(",") if privilege[1] else [""]
                        found += [Grant(privilege[0].lower(), c.strip(), thing.strip(), role.strip()) for c in columns]
    return list(dict.fromkeys(found))
