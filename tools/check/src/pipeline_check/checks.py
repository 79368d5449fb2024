"""Every check that looks at more than one producer's own settings: all blocks of all files in, findings out."""

from collections.abc import Callable, Iterable, Sequence

from pipeline_check.consumers import consumers
from pipeline_check.finding import Finding
from pipeline_check.reading.block import Block
from pipeline_check.together import together
from pipeline_check.topics import topics

Check = Callable[
    [Sequence[Block]], Iterable[Finding]
]  # each picks by `kind` and `client` what it knows about
CHECKS: list[Check] = [consumers, topics, together]
