"""The words of the domain: the table by which a copy is renamed, and the words that are taken."""

import builtins
import io
import keyword
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

# The template's own words, by the question that asks for the copy's.
TEMPLATE = {
    "subject": "order",
    "subjects": "orders",
    "effect": "fulfillment",
    "effects": "fulfillments",
    "accepted": "fulfilled",
    "accept": "fulfill",
}
TEMPLATE_TOPIC = "order.events"

# Where "order" is no word of ours. Prose says "sequence" where it means one, which a test checks.
NEVER = re.compile(r"\border\s+by\b|\bpaint-order\b", re.IGNORECASE)
FOREIGN = {"orderBy", "order_by", "in_order", "msg_order_cmp", "ByteOrder"}

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A part of a name in snake_case, CamelCase or UPPER_CASE, and an article before it.
PART_OF_NAME = re.compile(r"(?P<article>(?<![a-zA-Z])an?_)?(?P<part>[A-Z]?[a-z]+|[A-Z]+(?![a-z]))")

# Words that PostgreSQL does not take as the name of a table or a column.
SQL_RESERVED = """
    all analyse analyze and any array as asc asymmetric authorization binary both case cast check
    collate collation column concurrently constraint create cross default deferrable desc distinct
    do else end except false fetch for foreign freeze from full grant group having ilike in
    initially inner intersect into is isnull join lateral leading left like limit localtime
    localtimestamp natural not notnull null offset on only or order outer overlaps placing primary
    references returning right select session_user similar some symmetric table tablesample then
    to trailing true union unique user using variadic verbose when where window with
"""

RENAMED = re.compile(
    r"(?<![\w.])(?<![a-z]-)order(?P<dot>\\?\.)events(?![\w-])"  # escaped in a regular expression
    rf"|{NEVER.pattern}"
    rf"|\b(?P<article>an?)(?P<space>\s+)(?P<name>{IDENTIFIER.pattern})"
    rf"|{IDENTIFIER.pattern}",
    re.IGNORECASE,
)


class Words(NamedTuple):
    """The words of one copy: the table, and the name of its input topic."""

    table: Mapping[str, str]  # the template's word -> the copy's
    input_topic: str

    def rename(self, text: str) -> str:
        """Return the text in the copy's words: prose, SQL, settings, or a name."""
        return RENAMED.sub(self.replacement, text)

    def rename_python(self, source: str) -> str:
        """Return the program in the copy's words; its names are found by Python's own tokenizer."""
        lines = source.splitlines(keepends=True)
        names = [token for token in python_tokens(source) if token.type == tokenize.NAME]
        pieces = []
        line = column = 0
        for name in names:
            before = text_between(lines, (line, column), (name.start[0] - 1, name.start[1]))
            pieces += [self.rename(before), self.rename_name(name.string)]
            line, column = name.end[0] - 1, name.end[1]
        rest = text_between(lines, (line, column), (len(lines), 0))
        return "".join([*pieces, self.rename(rest)])

    def rename_name(self, name: str) -> str:
        """Return an identifier with each part that is a word of the table replaced."""
        if name in FOREIGN:
            return name
        return PART_OF_NAME.sub(self.renamed_part, name)

    def replacement(self, match: re.Match[str]) -> str:
        """Return what takes the place of a match of RENAMED."""
        text = match.group()
        if match["dot"]:
            return self.input_topic.replace(".", match["dot"])
        if NEVER.fullmatch(text):
            return text
        article, space, name = match["article"], match["space"], match["name"]
        if article is None:
            return self.rename_name(text)
        renamed = self.rename_name(name)
        if renamed != name:
            article = fitting_article(article[0], renamed)
        return f"{article}{space}{renamed}"

    def renamed_part(self, match: re.Match[str]) -> str:
        """Return the copy's word for a part of a name, written in the same style."""
        article, part = match["article"] or "", match["part"]
        word = self.table.get(part.lower(), part.lower())
        if word == part.lower():
            return match.group()
        if article:
            article = f"{fitting_article(article[0], word)}_"
        if part.isupper() and len(part) > 1:
            return article + word.upper()
        return article + (word.capitalize() if part[0].isupper() else word)


def fitting_article(first: str, word: str) -> str:
    """Return the article that begins with this letter, as it is before this word."""
    return first + ("n" if word[0].lower() in "aeiou" else "")


def python_tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens of a Python program."""
    return tokenize.generate_tokens(io.StringIO(source).readline)


def text_between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """Return what is written from one place (line from 0, column) up to another."""
    first_line, first_column = start
    last_line, last_column = end
    if first_line >= len(lines):
        return ""
    if first_line == last_line:
        return lines[first_line][first_column:last_column]
    first = lines[first_line][first_column:]
    middle = lines[first_line + 1 : last_line]
    last = ""
    if last_line < len(lines):
        last = lines[last_line][:last_column]
    return "".join([first, *middle, last])


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Yield each comment and each string of a Python program with its line."""
    wanted = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}
    for token in python_tokens(source):
        if token.type in wanted:
            yield token.start[0], token.string


def identifiers(path: str, text: str) -> set[str]:
    """Return what this file gives a name to: Python's names, SQL's tables and columns, keys."""
    if path.endswith(".sql"):
        return sql_names(text)
    if not path.endswith(".py"):
        return set()
    found = set()
    for token in python_tokens(text):
        if token.type == tokenize.NAME:
            found.add(token.string)
        elif token.type == tokenize.STRING and "/test_" not in path:  # there it is made-up data
            found |= string_names(token.string.strip("rbfuRBFU").strip("\"'"))
    return found


def string_names(text: str) -> set[str]:
    """Return the names in a string: of a statement all of them, else the string itself."""
    if re.search(r"\b(select|insert into|create table|update|delete from)\s", text):
        return sql_names(text)
    return {text} if IDENTIFIER.fullmatch(text) else set()


def sql_names(text: str) -> set[str]:
    """Return the words of a statement that are neither comment nor string."""
    return set(IDENTIFIER.findall(re.sub(r"--.*|'[^']*'", "", text)))


def refusals(words: Words, names: Mapping[str, Iterable[str]], paths: Iterable[str]) -> list[str]:
    """Return a sentence for each word that cannot be used, with the files where it clashes.

    `names` are the template's identifiers and the files of each, `paths` its files.
    """
    return [
        *refused_words(words.table, names),
        *refused_names(words, names),
        *refused_paths(words, set(paths)),
    ]


def refused_words(table: Mapping[str, str], names: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield why a word cannot be used as it is."""
    chosen = list(table.values())
    for word in sorted(set(chosen) - set(TEMPLATE.values())):
        asked = [question for question, old in TEMPLATE.items() if table[old] == word]
        if len(asked) > 1:
            yield f"{word!r} is given for {' and '.join(asked)}: each needs a word of its own"
        if keyword.iskeyword(word) or hasattr(builtins, word):
            yield f"{word!r} is a word of Python's: choose another"
        elif word in SQL_RESERVED.split():
            yield f"{word!r} is reserved in SQL: choose another"
        elif word in names:
            yield f"{word!r} is taken, by {listed(names[word])}: choose another"


def refused_names(words: Words, names: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield why a longer name would become another name of the template's."""
    for name in sorted(names):
        renamed = words.rename_name(name)
        is_free = renamed == name or renamed not in names
        is_renamed_itself = words.rename_name(renamed) != renamed
        if is_free or is_renamed_itself or renamed in words.table.values():
            continue
        files = listed(names[renamed])
        yield f"{name!r} would become {renamed!r}, which is taken, by {files}: choose other words"


def refused_paths(words: Words, paths: set[str]) -> Iterator[str]:
    """Yield why two files would get one name."""
    for path in sorted(paths):
        renamed = words.rename(path)
        if renamed != path and renamed in paths and words.rename(renamed) == renamed:
            yield f"{path} would become {renamed}, which is there: choose other words"


def listed(files: Iterable[str], most: int = 5) -> str:
    """Return the first few of these files, and how many more there are."""
    names = sorted(files)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
