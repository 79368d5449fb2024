"""One producer judged: every value that cannot be seen is tried, and only what follows from all of them is said."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from pipeline_check.clients.client import CLIENTS, Client, Version
from pipeline_check.clients.outcome import Outcome
from pipeline_check.clients.table import keys
from pipeline_check.effective import common, visible
from pipeline_check.judgement import Judgement
from pipeline_check.producer_findings import depends, findings
from pipeline_check.reading.block import Block
from pipeline_check.spelling import same

IDS = {"transactional.id", "transactional_id"}  # whatever they are, there is one
ABSENT = object()  # tried, too, where settings may come that cannot be seen


def judge(block: Block, versions: Mapping[str, Version] | None = None) -> Judgement:
    """The verdict on a producer, what becomes effective, and what should be known about it."""
    client = CLIENTS[block.client]
    version = (versions or {}).get(client.name, client.version)
    client = replace(
        client, version=version, others=() if client.name in (versions or {}) else client.others
    )
    trials = tried(block, client)
    verdicts = {outcome.verdict for _, outcome in trials}
    told = ".".join(map(str, version))
    outcome = common([outcome for _, outcome in trials])
    outcome.effective = visible(outcome.effective, block, client)
    if len(verdicts) > 1:
        found = depends(block, deciding(trials), unseen(block, client))
        return Judgement(block, client.name, told, "depends", outcome.effective, found)
    found = findings(block, client, outcome, known(block, client))
    return Judgement(block, client.name, told, outcome.verdict, outcome.effective, found)


def known(block: Block, client: Client) -> dict[str, Any]:
    """What is written here, as the client takes it; a name that it refuses needs no value, nor does an id."""
    listed = keys(client.name) if client.refuses_names else None
    return {
        name: (each.literal if client.literal else each.text) if each.known else "unseen"
        for name, each in block.settings.items()
        if each.known or name in IDS or (listed is not None and name not in listed)
    }


def unseen(block: Block, client: Client) -> dict[str, str]:
    """The deciding settings whose value is not written here, and where each comes from."""
    found = {}
    for name in client.deciding:
        written = [block.settings[each] for each in same(name) if each in block.settings]
        if block.opaque and not written:
            found[name] = block.opaque
        elif written and not any(each.known for each in written):
            found[name] = written[0].source
    return found


def tried(block: Block, client: Client) -> list[tuple[dict[str, Any], Outcome]]:
    """The outcome for each way that the unseen values could be."""
    seen, names = known(block, client), list(unseen(block, client))
    choices = [
        [*client.deciding[name], *([] if block.settings.keys() & same(name) else [ABSENT])]
        for name in names
    ]
    trials = []
    for values in product(*choices):  # a few hundred at most
        chosen = {
            name: value for name, value in zip(names, values, strict=True) if value is not ABSENT
        }
        trials.append(
            (dict(zip(names, values, strict=True)), client.judge(seen | chosen, client.version))
        )
    return trials


def deciding(trials: list[tuple[dict[str, Any], Outcome]]) -> list[str]:
    """The unseen settings that really make a difference: alone, with all others the same."""
    found = []
    for name in trials[0][0]:
        groups: dict[tuple[Any, ...], set[str]] = {}
        for values, outcome in trials:
            others = tuple(repr(value) for key, value in values.items() if key != name)
            groups.setdefault(others, set()).add(outcome.verdict)
        found += [name] if any(len(verdicts) > 1 for verdicts in groups.values()) else []
    return found
