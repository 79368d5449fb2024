"""Judge one producer: try every value that cannot be seen, and report what follows from all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal, NamedTuple

from pipeline_check.clients.client import CLIENTS, Client, Version
from pipeline_check.clients.outcome import Outcome
from pipeline_check.clients.table import keys
from pipeline_check.reading.block import Block
from pipeline_check.reading.builds import Build
from pipeline_check.rules.finding import Finding
from pipeline_check.rules.producer_findings import (
    depends_finding,
    find_in_producer,
    weigh_versions,
)
from pipeline_check.rules.spelling import synonyms, variants

Verdict = Literal["idempotent", "not_idempotent", "refused", "depends"]
Lookup = Callable[[str, str], Build | None]  # what a build file says, for a file and a client
NAMED_IN_BUILDS = {
    "java",
    "spring",
    "spring-cloud-stream",
    "smallrye",
    "micronaut",
    "streams",
    "kafka-python",
    "aiokafka",
    "librdkafka",
    "sarama",
    "franz-go",
    "kafka-go",
    "kafkajs",
}  # Spark and Connect bring a client of their own
IDS = {"transactional.id", "transactional_id"}  # whatever their value is, there is one
ABSENT = object()  # tried, too, where settings may come from a place that cannot be seen


@dataclass(frozen=True)
class Judgement:
    """One producer, judged by the rules of its client."""

    block: Block
    client: str
    version: str  # that was judged: the user's, that of the build, or the newest with rules
    verdict: Verdict
    effective: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    version_from: str = ""  # the place in a build file

    def without(self, ignored: set[Finding]) -> "Judgement":
        """Return the same with fewer findings; ignoring one does not change a verdict."""
        kept = [each for each in self.findings if each not in ignored]
        return replace(self, findings=kept)


class Trial(NamedTuple):
    """One way that the unseen values could be, and what the client makes of it."""

    values: dict[str, Any]
    outcome: Outcome


def look_nowhere(_file: str, _client: str) -> None:
    """Return nothing: no build file is asked."""


def judge(
    block: Block, versions: Mapping[str, Version] | None = None, lookup: Lookup = look_nowhere
) -> Judgement:
    """Return the verdict on a producer, what becomes effective, and the findings."""
    client, version_from = client_of(block, versions or {}, lookup)
    trials = try_values(block, client)
    trials = those_that_start(trials) or trials
    verdicts = {trial.outcome.verdict for trial in trials}
    outcome = what_is_common([trial.outcome for trial in trials])
    effective = what_is_visible(outcome.effective, block, client)
    outcome.effective = effective
    verdict: Verdict
    asked = seen_settings(block, client)
    if len(verdicts) > 1:
        verdict = "depends"
        deciding = deciding_settings(trials)
        found = depends_finding(block, deciding, unseen_settings(block, client))
    else:
        verdict = outcome.verdict
        found = find_in_producer(block, client, outcome, asked)
    if verdict == "idempotent" and client.open and differs_by_version(client, asked):
        verdict = "depends"
        found = weigh_versions(block, client, asked, found)
    version = ".".join(map(str, client.version))
    return Judgement(block, client.name, version, verdict, effective, found, version_from)


def client_of(block: Block, versions: Mapping[str, Version], lookup: Lookup) -> tuple[Client, str]:
    """Return a block's client in the user's version, or in that of the build, with its place."""
    client = CLIENTS[block.client]
    if client.name in versions:
        return replace(client, version=versions[client.name], others=()), ""
    if block.version:
        return replace(client, version=block.version, others=()), block.version_from
    build = lookup(block.file, client.name) if block.client in NAMED_IN_BUILDS else None
    if build:
        return replace(client, version=build.version, others=()), build.place
    return client, ""


def seen_settings(block: Block, client: Client) -> dict[str, Any]:
    """Return what is written here, as the client takes it.

    Without its value counts a name that the client refuses anyway, and an id.
    """
    listed = keys(client.name) if client.refuses_names else None
    found: dict[str, Any] = {}
    for name, setting in block.settings.items():
        is_refused = listed is not None and name not in listed
        if setting.known:
            found[name] = setting.literal if client.literal else setting.text
        elif setting.certain and (name in IDS or is_refused):
            found[name] = "unseen"
    return found


def unseen_settings(block: Block, client: Client) -> dict[str, str]:
    """Return the deciding settings whose value is not written here, and where each comes from."""
    found = {}
    for name in client.deciding:
        spellings = [each for each in synonyms(name) if each in block.settings]
        written = [block.settings[each] for each in spellings]
        if block.opaque and not written:
            found[name] = block.opaque
        elif written and not any(each.known for each in written):
            found[name] = written[0].source
    return found


def try_values(block: Block, client: Client) -> list[Trial]:
    """Ask the client's rules once for each way that the unseen values could be."""
    seen = seen_settings(block, client)
    names = list(unseen_settings(block, client))
    choices = []
    for name in names:
        may_be_absent = not block.settings.keys() & synonyms(name)
        absent = [ABSENT] if may_be_absent else []
        choices.append([*client.deciding[name], *absent])
    trials = []
    for combination in product(*choices):  # a few hundred at most
        values = dict(zip(names, combination, strict=True))
        present = {name: value for name, value in values.items() if value is not ABSENT}
        outcome = client.judge(seen | present, client.version)
        trials.append(Trial(values, outcome))
    return trials


def differs_by_version(client: Client, asked: Mapping[str, Any]) -> bool:
    """Return whether another version, which may as well be installed, is not idempotent."""
    return any(not client.judge(asked, version).idempotent for version in client.others)


def those_that_start(trials: list[Trial]) -> list[Trial]:
    """Return the trials in which the client starts: one that does not start doubles nothing."""
    return [trial for trial in trials if trial.outcome.verdict != "refused"]


def deciding_settings(trials: list[Trial]) -> list[str]:
    """Return the unseen settings that make a difference by themselves, all others being equal."""
    found = []
    for name in trials[0].values:
        groups: dict[tuple[str, ...], set[str]] = {}
        for values, outcome in trials:
            others = tuple(repr(value) for key, value in values.items() if key != name)
            groups.setdefault(others, set()).add(outcome.verdict)
        if any(len(verdicts) > 1 for verdicts in groups.values()):
            found.append(name)
    return found


def what_is_common(outcomes: list[Outcome]) -> Outcome:
    """Return what is so whatever the unseen values are.

    A refusal may have another reason each time; the first is then reported.
    """
    first = outcomes[0]
    refusals = list(first.refusals)
    changes = list(first.changes)
    effective = dict(first.effective)
    for outcome in outcomes[1:]:
        refusals = [each for each in refusals if each in outcome.refusals]
        changes = [each for each in changes if each in outcome.changes]
        for name, text in list(effective.items()):
            if outcome.effective.get(name) != text:
                del effective[name]
    return replace(
        first,
        effective=effective,
        refusals=refusals or first.refusals[:1],
        changes=changes,
    )


def what_is_visible(effective: Mapping[str, str], block: Block, client: Client) -> dict[str, str]:
    """Return the effective values without those that something unseen may replace.

    The deciding settings stay, because all their values were tried.
    """
    sure = {}
    for name, text in effective.items():
        spellings = variants(name)
        written = [block.settings[each] for each in spellings if each in block.settings]
        all_tried = any(each in client.deciding for each in spellings)
        all_known = all(each.known for each in written)
        complete = bool(written) or not block.opaque
        if all_tried or (all_known and complete):
            sure[name] = text
    return sure
