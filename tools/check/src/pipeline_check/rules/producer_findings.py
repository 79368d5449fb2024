"""The findings about one producer: what was asked, what becomes effective, what to write."""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from pipeline_check.clients.client import Client
from pipeline_check.clients.outcome import Outcome, Remark
from pipeline_check.clients.table import keys
from pipeline_check.reading.block import Block
from pipeline_check.rules.catalog import block_finding, make_finding
from pipeline_check.rules.finding import Finding, Severity
from pipeline_check.rules.fixes import (
    GOOD_VALUES,
    IDEMPOTENT,
    client_fix,
    remedy,
    usual_name,
    written_name,
)
from pipeline_check.rules.spelling import display_name, line_of_first, synonyms, variants

# Electing a new leader and finding it takes seconds, the restart of a broker half a minute.
SHORTEST_PATIENCE = 30_000  # ms
FEWEST_RETRIES = 10  # with the default back-off these are used up within the same time
PYTHON_VALUES: Mapping[str, Any] = {"true": True, "false": False}
FEW_RETRIES = {"kafka-python", "sarama", "old-java"}  # clients that give up early by default
PATIENCE = {  # the least that is enough, and what to write instead
    "delivery.timeout.ms": (SHORTEST_PATIENCE, "120000"),
    "retries": (FEWEST_RETRIES, "2147483647"),
}


def find_in_producer(
    block: Block, client: Client, outcome: Outcome, asked: Mapping[str, Any]
) -> list[Finding]:
    """Return everything about a producer whose verdict is certain, the worst first."""
    found = refusals(block, client, outcome, asked)
    if not found:
        found += not_idempotent(block, client, outcome, asked)
        found += weak_acks(block, outcome)
    found += never_sends(block, outcome)
    found += gives_up(block, outcome, asked)
    found += judged_defaults(block, client)
    found += silent_changes(block, outcome)
    found += misspelt_names(block, outcome)
    if not outcome.refusals:  # other versions do not matter while this one does not start
        found += other_versions(block, client, outcome, asked)
    return found


def depends_finding(block: Block, deciding: list[str], sources: Mapping[str, str]) -> list[Finding]:
    """Report what must be known before there is a verdict."""
    names_by_source: dict[str, list[str]] = {}
    for name in deciding:
        names_by_source.setdefault(sources[name], []).append(display_name(name))
    places = [
        f"the value of {', '.join(names)} comes from {source}"
        for source, names in names_by_source.items()
    ]
    found = block_finding(
        block,
        "producer-depends",
        says=f"the verdict depends: {'; '.join(places)}",
        fix=client_fix(block, IDEMPOTENT),
    )
    return [found]


def weigh_versions(
    block: Block, client: Client, asked: Mapping[str, Any], found: list[Finding]
) -> list[Finding]:
    """Return the findings with the one about versions as what decides, and with what mends it."""
    named = {**asked, **as_client_has(IDEMPOTENT, client)}
    settles = all(client.judge(named, version).idempotent for version in client.others)
    pin = f"{client.name}>={'.'.join(map(str, client.version[:2]))}"
    fix = client_fix(block, IDEMPOTENT) if settles else pin
    weighed = []
    for each in found:
        decides = each.id == "producer-depends-on-version"
        weighed.append(replace(each, severity=Severity.WARNING, fix=fix) if decides else each)
    return weighed


def refusals(
    block: Block, client: Client, outcome: Outcome, asked: Mapping[str, Any]
) -> list[Finding]:
    """Report why the producer does not start."""
    found = []
    for refusal in outcome.refusals:
        finding = make_finding(
            "producer-refused",
            block.file,
            line_of_first(block, refusal.keys),
            f"refused at start, {refusal.says}",
            refusal.way_out
            or good_value(block, client, refusal, asked)
            or remedy(block, refusal.keys[0]),
        )
        found.append(finding)
    return found


def good_value(block: Block, client: Client, refusal: Remark, asked: Mapping[str, Any]) -> str:
    """Write what lets the client start: the value that it asks for, and what must go with it."""
    name = usual_name(refusal.keys[0].replace("_", "."))
    value = refusal.good or GOOD_VALUES.get(name, "")
    if not value:
        return ""
    return client_fix(block, with_company(client, asked, {name: value}, block))


def not_idempotent(
    block: Block, client: Client, outcome: Outcome, asked: Mapping[str, Any]
) -> list[Finding]:
    """Report a producer that is not idempotent, and what made it so."""
    if outcome.idempotent:
        return []
    switch = ""
    for name in asked:
        if name.replace("_", ".").endswith("enable.idempotence"):
            switch = name
            break
    wanted = "enable.idempotence is not set"
    if switch:
        wanted = f"{display_name(switch)}={asked[switch]}"
    effective = f"not idempotent ({client.name}), because {outcome.because}{overtaking(outcome)}"
    found = make_finding(
        "producer-not-idempotent",
        block.file,
        line_of_first(block, (switch, outcome.culprit, "enable.idempotence")),
        f"asked: {wanted}; effective: {effective}",
        outcome.way_out or client_fix(block, idempotent_settings(client, asked, block)),
    )
    return [found]


def idempotent_settings(
    client: Client, asked: Mapping[str, Any], block: Block | None = None
) -> dict[str, str]:
    """Return what switches idempotence on, with what the client would refuse beside it."""
    return with_company(client, asked, IDEMPOTENT, block)


def with_company(
    client: Client, asked: Mapping[str, Any], wanted: Mapping[str, str], block: Block | None = None
) -> dict[str, str]:
    """Return settings with all that must change beside them, or the client would not start."""
    settings = dict(wanted)
    for _ in GOOD_VALUES:  # each round may bring one more to light
        named = {written_name(block, name) if block else name: settings[name] for name in settings}
        outcome = client.judge({**asked, **as_client_has(named, client)}, client.version)
        needed = {}
        for refusal in outcome.refusals:
            name = usual_name(refusal.keys[0].replace("_", "."))
            if name in GOOD_VALUES and name not in settings:
                needed[name] = refusal.good or GOOD_VALUES[name]
        if not needed:
            break
        settings |= needed
    return settings


def as_client_has(settings: Mapping[str, str], client: Client) -> dict[str, Any]:
    """Return settings as the client's rules take them: with underscores and Python's values."""
    if not client.literal:
        return dict(settings)
    values = {name: PYTHON_VALUES.get(text, text) for name, text in settings.items()}
    numbers = {name: int(text) for name, text in settings.items() if text.isdigit()}
    return {name.replace(".", "_"): each for name, each in (values | numbers).items()}


def overtaking(outcome: Outcome) -> str:
    """Say what else happens when several requests are in flight and one is sent again."""
    for name, text in outcome.effective.items():
        if name.replace("_", ".").startswith("max.in.flight"):
            if text == "1":
                return ""
            return f", and with {text} requests under way it may overtake others"
    return ""


def weak_acks(block: Block, outcome: Outcome) -> list[Finding]:
    """Report records that are acknowledged by fewer than all replicas."""
    acks = outcome.effective.get("acks", "all")
    if acks == "all":
        return []
    found = make_finding(
        "producer-acks-lost",
        block.file,
        line_of_first(block, ("acks",)),
        f"acks={acks} becomes effective",
        client_fix(block, {"acks": "all"}),
    )
    return [found]


def never_sends(block: Block, outcome: Outcome) -> list[Finding]:
    """Report a producer that starts and delivers nothing."""
    if not outcome.never_sends:
        return []
    found = make_finding(
        "producer-never-sends",
        block.file,
        line_of_first(block, ("linger.ms",)),
        outcome.never_sends,
        client_fix(block, {"linger.ms": "5"}),
    )
    return [found]


def gives_up(block: Block, outcome: Outcome, asked: Mapping[str, Any]) -> list[Finding]:
    """Report a producer that stops trying before an ordinary outage is over."""
    found = []
    for name, (least, better) in PATIENCE.items():
        spelling = name if name in outcome.effective else name.replace(".", "_")
        value = outcome.effective.get(spelling, "")
        written = [each for each in variants(name) if each in asked]
        is_early = block.client in FEW_RETRIES or (value == "0" and not written)
        by_default = is_early and name == "retries"
        too_short = value.isdigit() and int(value) < least
        decided = value == "0" and (outcome.culprit == name or bool(outcome.refusals))
        if too_short and (by_default or (written and not decided)):
            finding = make_finding(
                "producer-gives-up",
                block.file,
                line_of_first(block, tuple(written)),
                f"it gives up after {spelling}={value}",
                client_fix(block, {name: better}),
            )
            found.append(finding)
    return found


def judged_defaults(block: Block, client: Client) -> list[Finding]:
    """Report deciding values that are defaults, and may be replaced from outside."""
    spellings = dict.fromkeys(each for name in client.deciding for each in synonyms(name))
    said = []
    for name in spellings:
        setting = block.settings.get(name)
        if setting and setting.source and setting.known:
            said.append(f"{display_name(name)}={setting.text} comes from {setting.source}")
    if not said:
        return []
    paste = client_fix(block, IDEMPOTENT)
    found = block_finding(
        block,
        "producer-default-judged",
        says="; ".join(said),
        fix=f"fix the value here, or audit with the one that is set there: {paste}",
    )
    return [found]


def silent_changes(block: Block, outcome: Outcome) -> list[Finding]:
    """Report what the client changes without an error."""
    if not outcome.changes or outcome.refusals:
        return []
    names = tuple(name for change in outcome.changes for name in change.keys)
    found = make_finding(
        "setting-changed-silently",
        block.file,
        line_of_first(block, names),
        "; ".join(change.says for change in outcome.changes),
        client_fix(block, outcome.effective_of_changes()),
    )
    return [found]


def misspelt_names(block: Block, outcome: Outcome) -> list[Finding]:
    """Report names that the client ignores, and that look like ones that it has."""
    found = []
    for name in outcome.unknown:
        close = get_close_matches(name, keys("java"), 1, cutoff=0.9)
        if close and close[0] not in block.settings:
            finding = block_finding(
                block,
                "setting-misspelt",
                at=name,
                says=f"{name} is no setting of the client",
                fix=client_fix(block, {close[0]: block.settings[name].text}),
            )
            found.append(finding)
    return found


def other_versions(
    block: Block, client: Client, outcome: Outcome, asked: Mapping[str, Any]
) -> list[Finding]:
    """Report versions of the client that would decide otherwise."""
    different = []
    for version in client.others:
        verdict = client.judge(asked, version).verdict
        if verdict != outcome.verdict:
            number = ".".join(map(str, version))
            different.append(f"{verdict.replace('_', ' ')} in {number}")
    if not different:
        return []
    assumed = f"judged as version {'.'.join(map(str, client.version))}, which is assumed"
    found = block_finding(
        block,
        "producer-depends-on-version",
        says=f"{assumed}; it would be {', '.join(different)}",
        fix=client_fix(block, IDEMPOTENT),
    )
    return [found]
