"""Every check that looks at more than one producer's own settings: all blocks of all files in, findings out."""

from collections.abc import Callable, Iterable, Sequence

from ops.check.consumers import consumers
from ops.check.finding import Finding
from ops.check.reading.block import Block
from ops.check.together import together
from ops.check.topics import topics

Check = Callable[[Sequence[Block]], Iterable[Finding]]  # each picks by `kind` and `client` what it knows about
CHECKS: list[Check] = [consumers, topics, together]
