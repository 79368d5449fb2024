"""The job that repairs what a reconciliation has found, as far as a machine may."""

import argparse
import getpass
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from spark.judging.outcome import DEFECTS
from spark.kafka.positions import refuse_without_login
from spark.kafka.topic_ids import find_recreated, read_seen
from spark.parts import load_parts
from spark.reconcile import FAILURES
from spark.repairing.acts import Act, Finding, Proposal, for_people, propose, topic_of
from spark.repairing.both_sides import show_both_sides
from spark.repairing.landed_repairs import Problems, land_records, remove_repeats
from spark.repairing.repair_log import RepairLog, open_log
from spark.repairing.sent_again import hand_over, resend_events, send_entries
from spark.session import (
    STARTED_AT,
    describe,
    exit_with_error,
    locate,
    log_progress,
    make_session,
)
from spark.settings import Settings

SHOWN = 20  # findings for people, with the rows of both sides

Row = dict[str, Any]
Result = Row


class Options(NamedTuple):
    """What one repair is asked to do."""

    apply: bool
    who: str
    deadline: float  # for the service to handle a record, on the clock of time.monotonic
    run_id: str | None = None  # of the reconciliation; the latest, if none is named


class Step(NamedTuple):
    """One act, for all findings that it repairs."""

    act: Act
    findings: Sequence[Finding]
    run_id: str
    deadline: float


def repair(spark: SparkSession, settings: Settings, options: Options) -> Result:
    """Propose an act for each finding of a run, do them if asked to, and return what came of it."""
    run_id = options.run_id or latest_run(spark, settings)
    findings = read_findings(spark, settings, run_id)
    proposals = propose(findings, settings.input_topic)
    tell(proposals)
    problems: Mapping[Finding, str] = {}
    with open_log(settings.database_url, settings.resender_password_file, run_id) as log:
        if options.apply:
            problems = apply(spark, settings, log, proposals, options)
        done = log.done()
    people = for_people(proposals)
    sides = show_both_sides(spark, settings, load_parts(), people[:SHOWN]) if people else {}
    return {
        "run_id": run_id,
        "acts": [describe_act(one, done, problems) for one in proposals if one.act],
        "judged_again": [one.finding._asdict() for one in proposals if one.follows],
        "for_people": [one._asdict() | {"rows": sides.get(one, [])} for one in people],
    }


def latest_run(spark: SparkSession, settings: Settings) -> str:
    """Return the latest run that has compared anything, or end the job if there is none."""
    runs = read_table(spark, settings, "run")
    compared = runs.where("hops <> '[]'").selectExpr("max(run_id)")
    [(run_id,)] = compared.collect()
    if run_id is None:
        exit_with_error("no reconciliation has compared anything yet: run pipeline reconcile first")
    return str(run_id)


def read_findings(spark: SparkSession, settings: Settings, run_id: str) -> list[Finding]:
    """Return what a run has found; end the job if there is no such run."""
    runs = read_table(spark, settings, "run")
    if runs.where(runs.run_id == run_id).isEmpty():
        exit_with_error(f"there is no run {run_id} in {settings.delta_root}/reconcile/run")
    if not has_table(spark, settings, "outcome"):  # no run has ever found anything
        return []
    outcomes = read_table(spark, settings, "outcome")
    is_defect = outcomes.outcome.isin(list(DEFECTS))
    found = outcomes.where(outcomes.run_id == run_id).where(is_defect)
    rows = found.select("hop", "id", "outcome", "detail").orderBy("hop", "id").collect()
    return [Finding(*row) for row in rows]


def read_table(spark: SparkSession, settings: Settings, name: str) -> DataFrame:
    """Return a table of reconciliation, or end the job if there is none yet."""
    path = f"{settings.delta_root}/reconcile/{name}"
    if not has_table(spark, settings, name):
        exit_with_error(f"there is no {path}: run pipeline reconcile first")
    return spark.read.format("delta").load(path)


def has_table(spark: SparkSession, settings: Settings, name: str) -> bool:
    """Return whether reconciliation has this table yet."""
    files, log = locate(spark, f"{settings.delta_root}/reconcile/{name}/_delta_log")
    return bool(files.exists(log))


def apply(
    spark: SparkSession,
    settings: Settings,
    log: RepairLog,
    proposals: Sequence[Proposal],
    options: Options,
) -> dict[Finding, str]:
    """Do what was proposed and is not done yet; return why some of it could not be done.

    Each act may be done again, so it does not matter where an earlier repair was killed.
    """
    done = log.done()
    problems: dict[Finding, str] = {}
    for act in Act:
        of_act = [one for one in proposals if one.act is act]
        left = [one for one in of_act if one.finding[:2] not in done]
        if not left:
            continue
        log.plan(left, options.who)
        findings = [one.finding for one in left]
        step = Step(act, findings, log.run_id, options.deadline)
        of_id = do(spark, settings, step)
        log.note_done([finding for finding in findings if finding.id not in of_id])
        for finding in findings:
            if finding.id in of_id:
                problems[finding] = of_id[finding.id]
        log_progress(f"{act}: {len(findings) - len(of_id):,} of {len(findings):,} done")
    return problems


def do(spark: SparkSession, settings: Settings, step: Step) -> Problems:
    """Do one act for its findings; return the ids for which it could not be done, and why."""
    ids = {finding.id for finding in step.findings}
    match step.act:
        case Act.LAND | Act.REMOVE | Act.HAND_OVER:
            return do_with_rows(spark, settings, step, ids)
        case Act.RESEND:
            topics = {finding.id: topic_of(finding.hop) for finding in step.findings}
            return resend_events(settings, topics)
        case Act.SEND_ENTRY:
            return send_entries(settings, ids)


def do_with_rows(
    spark: SparkSession, settings: Settings, step: Step, positions: set[str]
) -> Problems:
    """Do one act with landed rows.

    Kafka does not say of which topic a record was, and one table has the rows of both.
    """
    recreated = find_recreated(positions, read_seen(spark, settings.delta_root))
    positions -= recreated
    problems = dict.fromkeys(recreated, "its topic was created again: this takes a person")
    match step.act:
        case Act.LAND:
            problems |= land_records(spark, settings, step.run_id, positions)
        case Act.REMOVE:
            problems |= remove_repeats(spark, settings, positions)
        case Act.HAND_OVER:
            problems |= hand_over(spark, settings, positions, step.deadline)
    return problems


def tell(proposals: Sequence[Proposal]) -> None:
    """Say what would be done, before anything is."""
    for act in Act:
        count = sum(one.act is act for one in proposals)
        if count:
            log_progress(f"{act}: {count:,}")


def describe_act(
    proposal: Proposal, done: set[tuple[str, str]], problems: Mapping[Finding, str]
) -> Row:
    """Return an act and what has become of it."""
    finding = proposal.finding
    state = "done" if finding[:2] in done else "proposed"
    problem = problems.get(finding)
    return finding._asdict() | {"act": proposal.act, "state": state, "problem": problem}


def is_repaired(result: Result) -> bool:
    """Return whether nothing is left to do, for this command or for a person."""
    are_done = all(act["state"] == "done" for act in result["acts"])
    return are_done and not result["for_people"]


def render_text(result: Result) -> str:
    """Return what a terminal shows: each act, what takes a person, and last what to do next."""
    lines = []
    for act in result["acts"]:
        line = "{state}: {act}: {id} ({outcome} in {hop})".format_map(act)
        problem = act["problem"]
        lines.append(f"{line}: {problem}" if problem else line)
    for finding in result["judged_again"]:
        line = "judged again after that: {id} ({outcome} in {hop})".format_map(finding)
        lines += [line]
    for finding in result["for_people"]:
        line = "for a person: {id} ({outcome} in {hop}): {detail}".format_map(finding)
        rows = ["    {side:<11} {of:<12} {row}".format_map(row) for row in finding["rows"]]
        lines += [line, *rows]
    lines.append(conclude(result))
    return "\n".join(lines)


def conclude(result: Result) -> str:
    """Return the last line."""
    acts = result["acts"]
    proposed = sum(act["state"] == "proposed" for act in acts)
    people = len(result["for_people"])
    run_id = result["run_id"]
    if not acts and not people:
        return f"run {run_id}: nothing to repair"
    counts = f"{len(acts) - proposed:,} done, {proposed:,} proposed, {people:,} for a person"
    return f"run {run_id}: {counts}; pipeline reconcile --land judges what is done"


def who_types() -> str:
    """Return the user, or the number of one that has no name, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def read_arguments(settings: Settings) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m spark.repair", description=main.__doc__)
    parser.add_argument("--apply", action="store_true", help="do it; otherwise only say it")
    parser.add_argument("--run", metavar="ID", help="of a run; the latest, if none is named")
    parser.add_argument("--by", default=who_types(), metavar="WHO", help="who is responsible")
    parser.add_argument(
        "--deadline", type=float, default=settings.reconcile_deadline_seconds, metavar="S"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    return parser.parse_args()


def main() -> None:
    """Propose an act for each finding of the latest reconciliation, and do it with --apply.

    Exit with 0 if nothing is left to do, 1 if something is, 2 if that could not be found out.
    """
    settings = Settings()
    arguments = read_arguments(settings)
    options = Options(
        apply=arguments.apply,
        who=arguments.by,
        deadline=STARTED_AT + arguments.deadline,
        run_id=arguments.run,
    )
    try:
        refuse_without_login(settings)
        spark = make_session("repair", settings.spark_jars_dir)
        result = repair(spark, settings, options)
    except FAILURES as error:
        exit_with_error(f"repair has stopped: {describe(error)}; run it again")
    print(json.dumps(result) if arguments.json else render_text(result))  # noqa: T201 - the result
    sys.exit(0 if is_repaired(result) else 1)


if __name__ == "__main__":
    main()
