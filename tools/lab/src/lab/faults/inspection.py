"""The end of a group of runs: the judge and the reconciliation look at everything that is there."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from deltalake import DeltaTable, QueryBuilder

from lab.faults.expect import derive
from lab.faults.facts import Record, Sent
from lab.faults.judge import Finding
from lab.faults.observe import EVERYTHING
from lab.faults.site import Site
from lab.faults.slots import check_slots
from lab.faults.trial import settle
from ops.progress import Note

WAIT_SECONDS = 30
OUTCOMES = "reconcile/outcome"
RECONCILE = ["spark.reconcile", "--land", "--json", "--deadline", "300"]
# All of them: the result itself names only the first of each kind.
DEFECTS = """
    select id, hop, outcome, detail
    from outcome
    where run_id = '{run_id}' and outcome not in ('matched', 'late', 'parked', 'not checked')
"""


def inspect(site: Site, sent: Sequence[Sent], note: Note) -> tuple[str, list[Finding]]:
    """Return the verdict of the reconciliation, and what it and the judge have found."""
    site.stop_landing()
    verdict, theirs = reconcile(site, note)
    site.observer.look(EVERYTHING)
    ours = settle(site, sent, landed=True, seconds=WAIT_SECONDS).findings
    slots = check_slots(site.stack.env())
    return verdict, [*theirs, *ours, *site.lake_log.check(), *slots]


def reconcile(site: Site, note: Note) -> tuple[str, list[Finding]]:
    """Return what the template's own reconciliation says, given the ledger of every run."""
    env = site.stack.env()
    printed: list[str] = []
    command = [*RECONCILE, "--ledger", env["LEDGER_ROOT"]]
    site.stack.pass_through(command, printed.append, note)
    result: dict[str, Any] = json.loads(printed[-1])
    findings = list_behind(result)
    if result["findings"]:
        findings += read_outcomes(env["DELTA_ROOT"], result["run_id"])
    return result["verdict"], findings


def list_behind(result: dict[str, Any]) -> list[Finding]:
    """Return each hop that has work and does not advance: it may not even have been compared."""
    return [
        Finding("I17", one["hop"], f"is behind: {one['waiting']:,} wait")
        for one in result["behind"]
    ]


def read_outcomes(delta_root: str, run_id: str) -> list[Finding]:
    """Return everything that a run of the reconciliation has found wrong."""
    outcomes = QueryBuilder().register("outcome", DeltaTable(f"{delta_root}/{OUTCOMES}"))
    found = outcomes.execute(DEFECTS.format(run_id=run_id)).read_all()
    columns = [found.column(name).to_pylist() for name in ("id", "hop", "outcome", "detail")]
    return [
        Finding("I14", subject, f"{hop}: {outcome} {detail or ''}".strip())
        for subject, hop, outcome, detail in zip(*columns, strict=True)
    ]


def subjects(sent: Iterable[Sent], records: Iterable[Record]) -> Iterator[str]:
    """Yield every name under which what was sent, and what has come of it, may be found."""
    ids = set()
    for place, sample in sent:
        message_id = sample.message_id or ""
        key = derive("audit", message_id)
        yield str(place)
        yield message_id
        yield sample.order_id
        ids |= {
            derive("event", message_id),
            derive("dead-letter", str(place)),
            derive("audit-entry", key),
        }
    yield from ids
    yield from (str(record.place) for record in records if record.header("id") in ids)
