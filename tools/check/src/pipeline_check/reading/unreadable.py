"""The error for a file that cannot be read: which file, at which line, and why."""


class UnreadableError(Exception):
    """A file that should be read and cannot be."""

    def __init__(self, file: str, line: int, why: str) -> None:
        super().__init__(f"cannot read {file} at line {line}: {why}")
        self.file = file
        self.line = line
        self.why = why
