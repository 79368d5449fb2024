"""The privileges that the SQL of migrations gives."""

import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from pipeline_check.connector.ddl import without_comments

ALL = ("select", "insert", "update", "delete")  # of what `all` gives, what a writer of rows needs
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
    """Every privilege that is granted by name."""
    statements = (
        match.groups() for text in texts for match in GRANT.finditer(without_comments(text))
    )
    return list(dict.fromkeys(grant for statement in statements for grant in given(*statement)))


def given(privileges: str, objects: str, roles: str) -> Iterator[Grant]:
    """What one statement gives; a placeholder such as {writer} is nobody that we know."""
    for (privilege, column), thing, role in product(
        named(privileges), objects.split(","), roles.split(",")
    ):
        if role.strip().isidentifier():
            yield Grant(privilege, column, thing.strip(), role.strip())


def named(privileges: str) -> list[tuple[str, str]]:
    """Each privilege, and the column that it is for, if it is for one."""
    if re.match(r"\s*all\b", privileges, re.IGNORECASE):
        return [(privilege, "") for privilege in ALL]
    parts = re.findall(r"(\w+)\s*(?:\(([^)]*)\))?\s*(?:,|$)", privileges)
    return [
        (privilege.lower(), column.strip())
        for privilege, columns in parts
        for column in columns.split(",")
    ]
