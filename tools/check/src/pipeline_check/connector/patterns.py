"""Lists of names, numbers and Java patterns, as Connect reads them."""

import re


def names(text: str | None) -> list[str]:
    """A list of names as Connect writes it."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def matches(pattern: str, text: str) -> bool:
    """Whether a Java pattern matches all of a text; one that Python cannot read matches nothing."""
    try:
        return re.fullmatch(pattern, text) is not None
    except (re.error, OverflowError, RecursionError):
        return False


def number(text: str | None, default: int = 0) -> int:
    """A number, or the default where there is none to be read."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 20 else default
