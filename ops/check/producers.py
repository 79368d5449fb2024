"""Every producer among the blocks, those that Connect makes for its source connectors among them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ops.check.clients.client import CLIENTS, Version
from ops.check.judge import judge
from ops.check.judgement import Judgement
from ops.check.nearest import nearest
from ops.check.reading.block import Block, Setting

DECIDING = [name for name in CLIENTS["connect"].deciding if name.startswith("worker:")]


def judgements(blocks: Sequence[Block], versions: Mapping[str, Version]) -> Iterator[Judgement]:
    """A judgement for each producer, for each worker, and for each source connector."""
    for block in blocks:
        if block.kind == "producer":
            yield judge(block, versions)
        elif block.kind == "worker":
            yield of_connect(block, {f"worker:{name}": each for name, each in block.settings.items()}, versions)
        elif block.kind == "connector" and is_source(block):
            yield of_connect(block, block.settings | worker_of(block, blocks), versions)


def of_connect(block: Block, settings: dict[str, Setting], versions: Mapping[str, Version]) -> Judgement:
    """What Connect makes of a worker's settings, or of these and a connector's."""
    return judge(replace(block, settings=settings, client="connect"), versions)


def worker_of(connector: Block, blocks: Sequence[Block]) -> dict[str, Setting]:
    """The settings of the worker whose file is nearest; unknown if none is among the files."""
    worker = nearest(blocks, "worker", connector.file)
    if not worker:
        unknown = Setting(
            "", connector.line, "the worker's settings, which cannot be told from these files", known=False
        )
        return dict.fromkeys(DECIDING, unknown)
    return {f"worker:{name}": replace(each, line=connector.line) for name, each in worker.settings.items()}


def is_source(connector: Block) -> bool:
    """Whether the connector produces: sinks are called so, in every connector that we know of."""
    kind = connector.known("connector.class") or ""
    return "Sink" not in kind.rpartition(".")[2]
