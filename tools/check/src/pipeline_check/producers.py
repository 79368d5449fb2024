"""Every producer among the blocks, those that Connect makes for its source connectors among them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pipeline_check.clients.client import CLIENTS, Version
from pipeline_check.judge import judge
from pipeline_check.judgement import Judgement
from pipeline_check.nearest import nearest
from pipeline_check.reading.block import Block, Setting

DECIDING = [name for name in CLIENTS["connect"].deciding if name.startswith("worker:")]


def judgements(blocks: Sequence[Block], versions: Mapping[str, Version]) -> Iterator[Judgement]:
    """A judgement for each producer, for each worker, and for each source connector."""
    for block in blocks:
        if block.kind == "producer":
            yield judge(block, versions)
        elif block.kind == "worker":
            yield of_connect(block, of_worker(block), versions)
        elif block.kind == "connector" and is_source(block):
            yield of_connect(block, block.settings | worker_of(block, blocks), versions)


def of_connect(
    block: Block, settings: dict[str, Setting], versions: Mapping[str, Version]
) -> Judgement:
    """What Connect makes of a worker's settings, or of these and a connector's."""
    return judge(replace(block, settings=settings, client="connect", opaque=""), versions)


def of_worker(worker: Block) -> dict[str, Setting]:
    """A worker's settings, so called; those that decide and may come from elsewhere are unknown."""
    written = {f"worker:{name}": each for name, each in worker.settings.items()}
    unknown = Setting("", worker.line, worker.opaque, known=False)
    return (dict.fromkeys(DECIDING, unknown) if worker.opaque else {}) | written


def worker_of(connector: Block, blocks: Sequence[Block]) -> dict[str, Setting]:
    """The settings of the worker whose file is nearest; unknown if none is among the files."""
    worker = nearest(blocks, "worker", connector.file)
    if not worker:
        source = "the worker's settings, which cannot be told from these files"
        unknown = Setting("", connector.line, source, known=False)
        return dict.fromkeys(DECIDING, unknown)
    return {name: replace(each, line=connector.line) for name, each in of_worker(worker).items()}


def is_source(connector: Block) -> bool:
    """Whether the connector produces: sinks are called so, in every connector that we know of."""
    kind = connector.known("connector.class") or ""
    return "Sink" not in kind.rpartition(".")[2]
