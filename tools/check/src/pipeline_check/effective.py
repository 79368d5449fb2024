"""What is so of a producer whatever the values are that cannot be seen."""

from collections.abc import Mapping
from dataclasses import replace

from pipeline_check.clients.client import Client
from pipeline_check.clients.outcome import Outcome
from pipeline_check.reading.block import Block
from pipeline_check.spelling import variants


def common(outcomes: list[Outcome]) -> Outcome:
    """What is so whatever the unseen values are; refusals may have another reason each time, and the first is told."""
    first = outcomes[0]
    refusals = [
        each for each in first.refusals if all(each in outcome.refusals for outcome in outcomes)
    ]
    changes = [
        each for each in first.changes if all(each in outcome.changes for outcome in outcomes)
    ]
    return replace(
        first, effective=in_all(outcomes), refusals=refusals or first.refusals[:1], changes=changes
    )


def in_all(outcomes: list[Outcome]) -> dict[str, str]:
    """The effective values that are the same whatever the unseen ones are."""
    first = outcomes[0].effective
    return {
        name: text
        for name, text in first.items()
        if all(each.effective.get(name) == text for each in outcomes)
    }


def visible(effective: Mapping[str, str], block: Block, client: Client) -> dict[str, str]:
    """The effective values, without those that something unseen may replace; the deciding ones were all tried."""
    sure = {}
    for name, text in effective.items():
        written = [block.settings[each] for each in variants(name) if each in block.settings]
        tried_all = any(each in client.deciding for each in variants(name))
        if tried_all or (all(each.known for each in written) and (written or not block.opaque)):
            sure[name] = text
    return sure
