"""What is raised when a file cannot be read: which, at which line, and why."""


class UnreadableError(Exception):
    """A file that should be read and cannot be."""

    def __init__(self, file: str, line: int, why: str) -> None:
        super().__init__(f"cannot read {file} at line {line}: {why}")
        self.file, self.line, self.why = file, line, why
