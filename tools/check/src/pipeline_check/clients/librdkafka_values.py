"""Values as librdkafka reads them: C's way with numbers, short forms of true and false, words in any case."""

import re

from pipeline_check.clients.table import Key

NUMBER = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|[0-9]+)")
REAL = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
PARTITIONERS = [
    "random",
    "consistent",
    "consistent_random",
    "murmur2",
    "murmur2_random",
    "fnv1a",
    "fnv1a_random",
]


def read(key: Key, text: str) -> object:
    """The value; ValueError with a sentence for what is refused."""
    if key.type in ("int", "float"):
        number = read_number(key, text)
        if number is not None and (wrong := key.outside(number)):
            raise ValueError(wrong)
        if number is not None:
            return number
    words = allowed_words(key)
    if not words and key.type not in ("int", "float"):
        return text.lstrip()
    said = text.lstrip() if key.name == "partitioner" else text.lower()
    if said in words:
        return words[said]
    expected = " or ".join(sorted(words)) or "a number"
    raise ValueError(f"{key.name}={text!r} is not {expected}")


def allowed_words(key: Key) -> dict[str, object]:
    """The words that a setting takes, in lower case, and what each means."""
    if key.type == "boolean":
        return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
    if key.name == "request.required.acks":
        return {"all": -1}
    if key.name == "partitioner":
        return {word: word for word in PARTITIONERS}
    return {word.lower(): word for word in key.values()} if key.type == "enum" else {}


def read_number(key: Key, text: str) -> float | None:
    """The number that a text begins with, if it does; integers wrap at 32 bits, as a cast in C does."""
    if key.type == "float":
        real = REAL.match(text)
        return float(real.group()) if real else None
    found = NUMBER.match(text)
    if not found:
        return None
    digits = re.match("0[0-7]*(?![xX])", found[2])
    number = min(int(digits.group(), 8) if digits else int(found[2], 0), 2**63)
    signed = max(-(2**63), min(2**63 - 1, -number if found[1] == "-" else number))
    return (signed + 2**31) % 2**32 - 2**31


def told(value: object) -> str:
    """The value as the library writes it."""
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:.15g}"
        if isinstance(value, float)
        else str(value)
    )
