"""Tables and publications in the SQL of migrations, also where it stands inside Python strings."""

import re
from collections.abc import Iterable, Iterator

from pipeline_check.connector.patterns import number
from pipeline_check.connector.surroundings import Column, Publication, Table, qualified

LONGEST = 20_000  # characters of one table; what has no end must not hold up the rest
NAME = r'[\w."]+'
CREATE = re.compile(
    rf"create\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?({NAME})\s*\(", re.IGNORECASE
)
ADD = re.compile(rf"alter\s+table\s+(?:only\s+)?({NAME})\s+add\s+column\s+([^;]+)", re.IGNORECASE)
PUBLICATION = re.compile(
    rf"create\s+publication\s+({NAME})\s+for\s+"
    r"(all\s+tables|table\s+[^;()]{1,2000}?)"
    r"(?:\s+with\s*\(\s*publish\s*=\s*'([^']*)'[^)]*\))?\s*(?=;|\"|'|$|\n\s*\n)",
    re.IGNORECASE,
)
LIMIT = r"(?:octet_length|char_length|length|pg_column_size)\([\s(]*\"?{}\"?[\s)]*(?:::\w+)?[\s)]*(<=?)\s*(\d+)"
BRACKET = re.compile(r"[()]")
NO_COLUMN = {"primary", "unique", "check", "constraint", "foreign", "exclude", "like"}
AFTER_TYPE = re.compile(
    r"\s+(?:not\s+null|null|default|primary|unique|check|references|generated|collate|constraint)\b"
)


def tables(texts: Iterable[str]) -> dict[str, Table]:
    """Every table whose CREATE TABLE is there; one that is created in two ways is left out."""
    found: dict[str, Table] = {}
    for table in (table for text in texts for table in created(without_comments(text))):
        if found.setdefault(table.name, table) != table:
            found[table.name] = Table(table.name)
    return {name: table for name, table in found.items() if table.columns}


def created(text: str) -> Iterator[Table]:
    """The tables of one text, with the columns that it adds later."""
    for match in CREATE.finditer(text):
        body, name = inside(text, match.end()), qualified(match[1])
        later = [added[2] for added in ADD.finditer(text) if qualified(added[1]) == name]
        yield make_table(name, [*parts(body), *later])


def make_table(name: str, definitions: list[str]) -> Table:
    """A table from the definitions of its columns and constraints."""
    whole = " ".join(definitions).lower()
    keys = {
        key.strip(' "')
        for found in re.findall(r"primary\s+key\s*\(([^)]*)\)", whole)
        for key in found.split(",")
    }
    columns = {}
    for definition in definitions:
        column, _, rest = definition.strip().partition(" ")
        column = column.strip('"').lower()
        if column in NO_COLUMN or not rest:
            continue
        rest = rest.strip().lower()
        needed = re.search(
            r"\bnot\s+null\b|\bprimary\s+key\b|\bidentity\b|^(big|small)?serial\b", rest
        )
        columns[column] = Column(
            AFTER_TYPE.split(rest)[0].strip(), not needed and column not in keys
        )
    return Table(name, columns, limits(whole, columns))


def limits(checks: str, columns: Iterable[str]) -> dict[str, int]:
    """The most bytes that the CHECKs allow, for each column that one limits."""
    found = {column: re.search(LIMIT.format(re.escape(column)), checks) for column in columns}
    return {
        column: number(limit[2]) - (limit[1] == "<") for column, limit in found.items() if limit
    }


def publications(texts: Iterable[str]) -> dict[str, Publication]:
    """Every publication that is created; one that is created in two ways is left out."""
    found: dict[str, Publication] = {}
    differ = set()
    for text in texts:
        for match in PUBLICATION.finditer(without_comments(text)):
            named = re.sub(r"(?i)^table\s+", "", match[2])
            whole = re.match(r"(?i)all\s+tables", named)
            names = (
                None
                if whole
                else frozenset(qualified(name.removeprefix("only ")) for name in named.split(","))
            )
            kinds = (
                {"operations": frozenset(re.split(r"\s*,\s*", match[3].strip().lower()))}
                if match[3]
                else {}
            )
            name, one = match[1].strip('"'), Publication(names, **kinds)
            if found.setdefault(name, one) != one:
                differ.add(name)
    return {name: one for name, one in found.items() if name not in differ}


def inside(text: str, start: int) -> str:
    """What stands between this bracket and the one that closes it."""
    depth = 1
    for bracket in BRACKET.finditer(text, start, start + LONGEST):
        depth += 1 if bracket[0] == "(" else -1
        if not depth:
            return text[start : bracket.start()]
    return ""


def parts(body: str) -> list[str]:
    """The body parted at those commas that stand in no bracket."""
    depth, found = 0, [""]
    for sign in body:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return [" ".join(part.split()) for part in found]


def without_comments(text: str) -> str:
    """The text without -- comments, whose brackets and commas mean nothing."""
    return re.sub(r"--[^\n]*", "", text)
