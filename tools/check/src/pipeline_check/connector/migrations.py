"""What the SQL of migrations makes, also in Python strings: tables, publications, privileges."""

import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from pipeline_check.connector.surroundings import (
    Column,
    Publication,
    Table,
    parse_number,
    qualified,
)

LONGEST = 20_000  # characters of one table; one without an end must not hold up the rest
NAME = r'[\w."]+'
CREATE = re.compile(
    rf"create\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?({NAME})\s*\(", re.IGNORECASE
)
ADD_COLUMN = re.compile(
    rf"alter\s+table\s+(?:only\s+)?({NAME})\s+add\s+column\s+([^;]+)", re.IGNORECASE
)
PUBLICATION = re.compile(
    rf"create\s+publication\s+({NAME})\s+for\s+"
    r"(all\s+tables|table\s+[^;()]{1,2000}?)"
    r"(?:\s+with\s*\(\s*publish\s*=\s*'([^']*)'[^)]*\))?\s*(?=;|\"|'|$|\n\s*\n)",
    re.IGNORECASE,
)
PRIMARY_KEY = re.compile(r"primary\s+key\s*\(([^)]*)\)")
NOT_NULL = re.compile(r"\bnot\s+null\b|\bprimary\s+key\b|\bidentity\b|^(big|small)?serial\b")
LIMIT = (
    r"(?:octet_length|char_length|length|pg_column_size)"
    r"\([\s(]*\"?{}\"?[\s)]*(?:::\w+)?[\s)]*(<=?)\s*(\d+)"
)
BRACKET = re.compile(r"[()]")
COMMENT = re.compile(r"--[^\n]*")
NO_COLUMN = {"primary", "unique", "check", "constraint", "foreign", "exclude", "like"}
AFTER_TYPE = re.compile(
    r"\s+(?:not\s+null|null|default|primary|unique|check|references|generated|collate|constraint)\b"
)
GRANT = re.compile(
    r"\bgrant\s+([\w\s,()]{1,200}?)\s+on\s+(?:table\s+)?([\w\s,.\"%]{1,400}?)"
    r"\s+to\s+([\w\s,{}]{1,200}?)\s*(?=;|\"|')",
    re.IGNORECASE,
)
REVOKE = re.compile(
    r"\brevoke\s+([\w\s,()]{1,200}?)\s+on\s+(?:table\s+)?([\w\s,.\"%]{1,400}?)"
    r"\s+from\s+([\w\s,{}]{1,200}?)\s*(?=;|\"|')",
    re.IGNORECASE,
)
# How Alembic's files undo a revision: at their end, and in constants that are named for it.
DOWNGRADE = re.compile(
    r"^(?:DOWN|DROP)\w*\s*=\s*f?(\"{3}|'{3}).*?\1|^def\s+downgrade\b.*",
    re.MULTILINE | re.DOTALL,
)
PRIVILEGE = re.compile(r"(\w+)\s*(?:\(([^)]*)\))?\s*(?:,|$)")
ALL_PRIVILEGES = ("select", "insert", "update", "delete")  # what a writer of rows needs of `all`


# Tables


def find_tables(texts: Iterable[str]) -> dict[str, Table]:
    """Return every table that is created; one that is created in two ways is left out."""
    found: dict[str, Table] = {}
    differing = set()
    for text in texts:
        for table in created_tables(without_comments(text)):
            known = found.setdefault(table.name, table)
            if known != table:
                differing.add(table.name)
    return {name: table for name, table in found.items() if table.columns and name not in differing}


def created_tables(text: str) -> Iterator[Table]:
    """Yield the tables of one text, with the columns that it adds later."""
    for match in CREATE.finditer(text):
        name = qualified(match[1])
        definitions = split_at_commas(inside_brackets(text, match.end()))
        for added in ADD_COLUMN.finditer(text):
            if qualified(added[1]) == name:
                definitions.append(added[2])
        yield make_table(name, definitions)


def make_table(name: str, definitions: list[str]) -> Table:
    """Return a table from the definitions of its columns and constraints."""
    text = " ".join(definitions).lower()
    keys = set()
    for names in PRIMARY_KEY.findall(text):
        keys |= {key.strip(' "') for key in names.split(",")}
    columns = {}
    for definition in definitions:
        first, _, rest = definition.strip().partition(" ")
        column = first.strip('"').lower()
        rest = rest.strip().lower()
        if column in NO_COLUMN or not rest:
            continue
        is_needed = column in keys or NOT_NULL.search(rest)
        kind = AFTER_TYPE.split(rest)[0].strip()
        columns[column] = Column(kind, nullable=not is_needed)
    return Table(name, columns, find_limits(text, columns))


def find_limits(checks: str, columns: Iterable[str]) -> dict[str, int]:
    """Return the most bytes that the CHECKs allow, for each column that one limits."""
    found = {}
    for column in columns:
        limit = re.search(LIMIT.format(re.escape(column)), checks)
        if limit:
            sign, size = limit.groups()
            found[column] = parse_number(size) - (1 if sign == "<" else 0)
    return found


def inside_brackets(text: str, start: int) -> str:
    """Return the text between a bracket and the one that closes it."""
    depth = 1
    for bracket in BRACKET.finditer(text, start, start + LONGEST):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            return text[start : bracket.start()]
    return ""


def split_at_commas(text: str) -> list[str]:
    """Split a text at those commas that are in no bracket."""
    depth = 0
    parts = [""]
    for sign in text:
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [" ".join(part.split()) for part in parts]


def without_comments(text: str) -> str:
    """Return a text without -- comments, whose brackets and commas mean nothing."""
    return COMMENT.sub("", text)


# Publications


def find_publications(texts: Iterable[str]) -> dict[str, Publication]:
    """Return every publication that is created; one that is created in two ways is left out."""
    found: dict[str, Publication] = {}
    differing = set()
    for text in texts:
        for match in PUBLICATION.finditer(without_comments(text)):
            name, tables, operations = match.groups()
            name = name.strip('"')
            publication = make_publication(tables, operations)
            known = found.setdefault(name, publication)
            if known != publication:
                differing.add(name)
    return {name: one for name, one in found.items() if name not in differing}


def make_publication(tables: str, operations: str | None) -> Publication:
    """Return a publication from the clauses of its statement."""
    names: frozenset[str] | None = None
    if not re.match(r"(?i)all\s+tables", tables):
        listed = re.sub(r"(?i)^table\s+", "", tables).split(",")
        names = frozenset(qualified(name.removeprefix("only ")) for name in listed)
    if not operations:
        return Publication(names)
    return Publication(names, frozenset(re.split(r"\s*,\s*", operations.strip().lower())))


# Privileges


class Grant(NamedTuple):
    """One privilege, perhaps on one column, that the migrations give to a role."""

    privilege: str
    column: str
    object: str
    role: str


def find_grants(texts: Iterable[str]) -> list[Grant]:
    """Return every privilege that is granted by name, and not taken back by a later revision."""
    granted: dict[Grant, None] = {}
    revoked: set[Grant] = set()
    for text in texts:
        upgrade = DOWNGRADE.sub("", without_comments(text))
        for match in GRANT.finditer(upgrade):
            granted |= dict.fromkeys(grants_of(*match.groups()))
        for match in REVOKE.finditer(upgrade):
            revoked.update(grants_of(*match.groups()))
    return [grant for grant in granted if grant not in revoked]


def grants_of(privileges: str, objects: str, roles: str) -> Iterator[Grant]:
    """Yield what one statement gives; a placeholder such as {writer} is not a known role."""
    named = split_privileges(privileges)
    for (privilege, column), thing, role in product(named, objects.split(","), roles.split(",")):
        if role.strip().isidentifier():
            yield Grant(privilege, column, thing.strip(), role.strip())


def split_privileges(text: str) -> list[tuple[str, str]]:
    """Return each privilege, and the column that it is for, if it is for one."""
    if re.match(r"\s*all\b", text, re.IGNORECASE):
        return [(privilege, "") for privilege in ALL_PRIVILEGES]
    found = []
    for privilege, columns in PRIVILEGE.findall(text):
        found += [(privilege.lower(), column.strip()) for column in columns.split(",")]
    return found
