"""Every producer among the blocks, with those that Connect makes for its source connectors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pipeline_check.clients import connect
from pipeline_check.clients.client import CLIENTS, Version
from pipeline_check.reading.block import Block, Setting
from pipeline_check.rules.catalog import block_finding
from pipeline_check.rules.judge import Judgement, Lookup, judge, look_nowhere
from pipeline_check.rules.nearest import nearest

OF_THE_WORKER = {"producer-not-idempotent", "producer-depends"}
DECIDING = [name for name in CLIENTS["connect"].deciding if name.startswith("worker:")]
UNKNOWN_WORKER = "the worker's settings, which these files do not show"


def judge_producers(
    blocks: Sequence[Block], versions: Mapping[str, Version], lookup: Lookup = look_nowhere
) -> Iterator[Judgement]:
    """Judge each producer, each worker, and each source connector beside its worker."""
    for block in blocks:
        if block.kind == "producer":
            yield judge(block, versions, lookup)
        elif block.kind == "worker":
            yield judge(connect_block(block, worker_settings(block)), versions)
        elif block.kind == "connector" and is_source(block):
            settings = block.settings | settings_of_its_worker(block, blocks)
            judged = judge(as_run_by_its_worker(connect_block(block, settings), blocks), versions)
            yield judged if has_overrides(block) else as_its_worker(judged, block, blocks)


def has_overrides(connector: Block) -> bool:
    """Return whether a connector says anything of its producer itself."""
    return any(name.startswith(connect.OVERRIDE) for name in connector.settings)


def as_its_worker(judged: Judgement, connector: Block, blocks: Sequence[Block]) -> Judgement:
    """Return the same without what is the worker's to mend; a note if that cannot be seen."""
    if nearest(blocks, "worker", connector.file):
        return judged.without({each for each in judged.findings if each.id in OF_THE_WORKER})
    note = block_finding(
        connector,
        "worker-not-seen",
        says="the worker of this connector is not among these files",
        fix="producer.enable.idempotence=true, in the worker",
    )
    return replace(judged, findings=[note])


def as_run_by_its_worker(connector: Block, blocks: Sequence[Block]) -> Block:
    """Return a connector with the version of the worker that runs it."""
    worker = nearest(blocks, "worker", connector.file)
    if not worker or not worker.version:
        return connector
    return replace(connector, version=worker.version, version_from=worker.version_from)


def connect_block(block: Block, settings: dict[str, Setting]) -> Block:
    """Return the producer that Connect makes of a worker's settings and a connector's."""
    return replace(block, settings=settings, client="connect", opaque="")


def worker_settings(worker: Block) -> dict[str, Setting]:
    """Return a worker's settings under `worker:` names.

    Where more may come from elsewhere, the deciding ones that are not written are unknown.
    """
    written = {f"worker:{name}": each for name, each in worker.settings.items()}
    if not worker.opaque:
        return written
    unknown = Setting("", worker.line, worker.opaque, known=False)
    return dict.fromkeys(DECIDING, unknown) | written


def settings_of_its_worker(connector: Block, blocks: Sequence[Block]) -> dict[str, Setting]:
    """Return the settings of a connector's worker; unknown if it is not among the files."""
    worker = nearest(blocks, "worker", connector.file)
    if not worker:
        unknown = Setting("", connector.line, UNKNOWN_WORKER, known=False)
        return dict.fromkeys(DECIDING, unknown)
    settings = worker_settings(worker)
    return {name: replace(each, line=connector.line) for name, each in settings.items()}


def is_source(connector: Block) -> bool:
    """Return whether a connector produces: in every connector that we know, sinks say so."""
    class_name = (connector.known("connector.class") or "").rpartition(".")[2]
    return "Sink" not in class_name
