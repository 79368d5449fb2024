"""Every check that looks at more than one producer's own settings: all blocks of all files in, findings out."""

from collections.abc import Callable, Iterable, Sequence

from ops.check.finding import Finding
from ops.check.reading.block import Block

Check = Callable[[Sequence[Block]], Iterable[Finding]]  # each picks by `kind` and `client` what it knows about
CHECKS: list[Check] = []  # the connector linter goes here: it picks the blocks of kind "connector"
