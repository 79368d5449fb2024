"""What to do about a finding: the smallest act that a machine may do, or none."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import NamedTuple

from spark.hops import (
    AUDIT_ENTRY_TO_OUTBOX,
    LEDGER_TO_OUTCOME,
    OUTBOX_TO,
    TOPICS_TO_LANDED,
    TRACKING_TO_AUDIT_ENTRY,
    TRACKING_TO_AUDIT_MARK,
    input_to_tracking,
    ledger_to_input,
)


class Act(StrEnum):
    """What can be done, in the sequence in which it is done."""

    LAND = "land the record"
    REMOVE = "remove the second row"
    RESEND = "send the event again"
    SEND_ENTRY = "send the audit entry again"
    HAND_OVER = "hand the record to the service again"


class Finding(NamedTuple):
    """One id that a reconciliation has found wrong."""

    hop: str
    id: str
    outcome: str
    detail: str


class Proposal(NamedTuple):
    """A finding, and what to do about it."""

    finding: Finding
    act: Act | None
    follows: bool = False  # from a finding for which there is an act: judged again after that


Targets = Mapping[Act, AbstractSet[str]]  # the ids of each act


def propose(findings: Iterable[Finding], input_topic: str) -> list[Proposal]:
    """Return what to do about each finding."""
    acts = {finding: choose_act(finding, input_topic) for finding in findings}
    targets = targets_of(acts)
    proposals = []
    for finding, act in acts.items():
        follows = may_follow(finding, targets, input_topic)
        proposals.append(Proposal(finding, None if follows else act, follows))
    return proposals


def choose_act(finding: Finding, input_topic: str) -> Act | None:
    """Return the act for a finding by itself; None if it takes a person."""
    acts = {
        (TOPICS_TO_LANDED, "missing"): Act.LAND,
        (TOPICS_TO_LANDED, "duplicate"): Act.REMOVE,
        (TRACKING_TO_AUDIT_ENTRY, "missing"): Act.SEND_ENTRY,
        (TRACKING_TO_AUDIT_MARK, "missing"): Act.SEND_ENTRY,
        (input_to_tracking(input_topic), "missing"): Act.HAND_OVER,
    }
    is_unpublished = finding.hop.startswith(OUTBOX_TO) and finding.outcome == "missing"
    if is_unpublished:
        return Act.RESEND
    return acts.get((finding.hop, finding.outcome))


def targets_of(acts: Mapping[Finding, Act | None]) -> Targets:
    """Return the ids of each act; an id may have several findings."""
    targets: dict[Act, set[str]] = {act: set() for act in Act}
    for finding, act in acts.items():
        if act:
            targets[act].add(finding.id)
    return targets


def may_follow(finding: Finding, targets: Targets, input_topic: str) -> bool:
    """Return whether a finding may be gone once the acts are done."""
    place = (finding.hop, finding.outcome)
    to_land = targets[Act.LAND]
    topics = {position.partition("/")[0] for position in to_land}
    if finding.hop.startswith(OUTBOX_TO):  # an event is known by its id, and not by its position
        return finding.outcome == "missing" and topic_of(finding.hop) in topics
    if place == (LEDGER_TO_OUTCOME, "missing"):
        return finding.id in targets[Act.HAND_OVER]
    if place == (AUDIT_ENTRY_TO_OUTBOX, "extra"):  # the entry is gone, its event is not
        return bool(targets[Act.SEND_ENTRY])
    input_hops = {(ledger_to_input(input_topic), "missing")}
    input_hops.add((input_to_tracking(input_topic), "extra"))
    return place in input_hops and finding.id in to_land


def topic_of(hop: str) -> str:
    """Return the topic at the end of a hop that begins at an outbox."""
    return hop.removeprefix(OUTBOX_TO)


def for_people(proposals: Sequence[Proposal]) -> list[Finding]:
    """Return the findings about which a machine can do nothing."""
    return [one.finding for one in proposals if one.act is None and not one.follows]
