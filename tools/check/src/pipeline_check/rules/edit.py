"""A fix: the text to paste, and the edits that it stands for, for a program."""

from typing import NamedTuple


class Edit(NamedTuple):
    """One setting of one block that gets another value."""

    file: str
    block_line: int
    setting: str  # as the rules call it
    key: str  # as the file calls it
    value: str
    line: int  # where it is set now; 0 if it is not
    last_line: int  # of the block's settings: behind it there is room for another


class Fix(str):
    """A text to paste that knows its edits; any other text is for a person alone."""

    __slots__ = ("edits",)
    edits: tuple[Edit, ...]

    def __new__(cls, text: str, edits: tuple[Edit, ...] = ()) -> "Fix":
        """Return the text with its edits."""
        made = super().__new__(cls, text)
        made.edits = edits
        return made


def edits_of(fix: str) -> tuple[Edit, ...]:
    """Return the edits of a fix; none of a text that only a person can follow."""
    return fix.edits if isinstance(fix, Fix) else ()
