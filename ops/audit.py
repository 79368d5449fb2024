"""`pipeline audit retry`: send again what the audit receiver has refused for good."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from pydantic_core import to_json
from sqlalchemy import Engine, text

from access.audit import AuditAccess
from contract.age import format_age
from ops.purger import connect_as_purger
from ops.settings import Env
from ops.stack.supervisor import StackError
from service.database import classify_errors
from service.mark import read_item
from service.outage import OutageError
from service.post import Answers, AuditItem, count_failures, post_all, post_batch, post_single
from service.request import connect

SECONDS = 10.0  # for one request
MODES = ("batch", "single")
AT_ONCE = 500  # in one request and one transaction
FOR_EVER = 1e9  # seconds

CHOSEN = """
    audit_failure.subscriber = :subscriber
    and retry_at is null
    and position(:reason in reason) > 0
    and failing_since <= now() - make_interval(secs => :older_than)
    and failing_since >= now() - make_interval(secs => :newer_than)
"""
COUNT = text(f"""
    select
        reason,
        count(*) as entries,
        extract(epoch from now() - min(failing_since))::float as oldest_seconds
    from audit_failure
    where {CHOSEN}
    group by reason
    order by entries desc, reason
""")  # noqa: S608 - CHOSEN is ours
# By their ids: what is refused once more comes before the next ones, and is not chosen again.
NEXT = text(f"""
    select message_id, topic, partition, "offset", body, traceparent, tracestate
    from audit_failure
    where {CHOSEN} and message_id > :after
    order by message_id
    limit :limit
""")  # noqa: S608 - CHOSEN is ours
SETTLE = text("""
    with answer as materialized (
        select *
        from json_to_recordset(cast(:answers as json)) as answer (message_id text, reason text)
    ),

    taken as (
        delete from audit_failure
        using answer
        where audit_failure.subscriber = :subscriber
            and audit_failure.message_id = answer.message_id
            and answer.reason is null
    ),

    refused as (
        update audit_failure
        set reason = answer.reason
        from answer
        where audit_failure.subscriber = :subscriber
            and audit_failure.message_id = answer.message_id
            and answer.reason is not null
    )

    update tracking
    set
        audited_at = case when answer.reason is null then now() end,
        audit_error = answer.reason
    from answer
    where tracking.subscriber = :subscriber and tracking.message_id = answer.message_id
""")


class Choice(NamedTuple):
    """Which of the refused entries are meant."""

    reason: str = ""  # what their reason must contain
    older_than: float = 0
    newer_than: float = FOR_EVER


class Done(NamedTuple):
    """What became of the entries that were sent again."""

    taken: int
    refused: int


def count_refused(env: Env, choice: Choice) -> list[dict[str, Any]]:
    """Return how many entries were refused for which reason, and since when."""
    with connect_as_purger(env) as engine, classify_errors(), engine.connect() as connection:
        found = connection.execute(COUNT, parameters(env, choice))
        return [dict(row) for row in found.mappings()]


def retry(env: Env, choice: Choice, note: Callable[[str], object]) -> Done:
    """Send the entries again, with the keys and the bytes of the first time; mark the answers."""
    post = make_post(env)
    sent = 0
    refused = 0
    with connect_as_purger(env) as engine:
        try:
            for items in read_pages(engine, env, choice):
                answers = post(items)
                settle(engine, env["SUBSCRIBER"], answers)
                sent += len(items)
                refused += count_failures(answers)
                note(f"{sent:,} sent, {refused:,} of them refused again")
        except OutageError as outage:
            raise StackError(
                f"{outage}; {sent:,} were sent, the next run goes on with the others"
            ) from None
    return Done(sent - refused, refused)


def make_post(env: Env) -> Callable[[list[AuditItem]], Answers]:
    """Return how the service posts, by the same settings."""
    mode = env.get("AUDIT_MODE") or "batch"
    if mode not in MODES:
        raise StackError(f"AUDIT_MODE={mode}: should be batch or single")
    is_single = mode == "single"
    receiver = connect(AuditAccess(audit_url=env["AUDIT_URL"]), SECONDS)
    return partial(
        post_all,
        post=partial(post_single if is_single else post_batch, receiver),
        at_once=1 if is_single else AT_ONCE,
        may_fail=AT_ONCE,
        keep_polling=lambda: None,
    )


def read_pages(engine: Engine, env: Env, choice: Choice) -> Iterator[list[AuditItem]]:
    """Yield the chosen entries, as many at a time as one request takes."""
    values = parameters(env, choice) | {"after": "", "limit": AT_ONCE}
    while True:
        with classify_errors(), engine.connect() as connection:
            rows = connection.execute(NEXT, values).all()
        if not rows:
            return
        yield [read_item(row, env["SUBSCRIBER"]) for row in rows]
        values["after"] = rows[-1].message_id


def settle(engine: Engine, subscriber: str, answers: Answers) -> None:
    """Note the answers in one statement and one commit."""
    rows = []
    for message_id, failure in answers.items():
        reason = None if failure is None else failure.reason
        rows.append({"message_id": message_id, "reason": reason})
    values = {"subscriber": subscriber, "answers": to_json(rows).decode()}
    with classify_errors(), engine.connect() as connection:
        connection.execute(SETTLE, values)


def parameters(env: Env, choice: Choice) -> dict[str, Any]:
    """Return what the statements are told."""
    return {"subscriber": env["SUBSCRIBER"], **choice._asdict()}


def describe(reasons: list[dict[str, Any]]) -> list[str]:
    """Return a line for each reason."""
    lines = []
    for found in reasons:
        entries = found["entries"]
        reason = found["reason"]
        age = format_age(found["oldest_seconds"])
        lines.append(f"{entries:>7,} entries, up to {age} old: {reason}")
    return lines
