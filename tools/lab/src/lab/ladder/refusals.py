"""Commits that Postgres refuses: a rollback at the last moment, when everything else is done."""

from collections.abc import Iterator, Mapping, Sequence

from lab.environment import connect_as_admin
from lab.ladder.fault_plan import POST_FIRST, POST_LAST
from lab.ladder.steps import OUTBOX

# Each refusal is a sequence, named by its point and its message: what a sequence has counted is not
# rolled back, so that the same transaction is refused once.
REFUSE = """
    create or replace function ladder.refuse_commit() returns trigger
    language plpgsql
    security definer
    as $$
    declare
        planned regclass := to_regclass(
            format('ladder.%I', concat(tg_argv[0], '.', new.message_id))
        );
    begin
        if planned is not null and nextval(planned) = 1 then
            raise exception 'refused as planned' using errcode = 'serialization_failure';
        end if;
        return null;
    end $$
"""
SEQUENCES = """
    select sequencename
    from pg_sequences
    where schemaname = 'ladder'
"""
REFUSED = f"{SEQUENCES} and last_value is not null"  # a null was never counted

# The transaction that a refusal hits. The plain service has one for each order. The real one never
# posts inside a transaction: before the POST it writes, and afterwards it marks.
PLAIN = {
    POST_FIRST: "insert on ladder.fulfillment",
    POST_LAST: "insert on ladder.fulfillment",
}
REAL = {
    POST_FIRST: "insert on tracking",
    POST_LAST: "update on tracking",
}
TABLES = ("ladder.fulfillment", "tracking")


def refuse_commits(env: Mapping[str, str], step: int, planned: Sequence[str]) -> None:
    """Let Postgres refuse what the plan says, and nothing where the plan has no refusal."""
    events = PLAIN if step < OUTBOX else REAL
    refusals = [name for name in planned if name.partition(".")[0] in events]
    with connect_as_admin(dict(env), "DATABASE_URL") as admin:
        for (name,) in admin.execute(SEQUENCES.encode()).fetchall():
            admin.execute(f'drop sequence ladder."{name}"'.encode())
        for name in refusals:
            admin.execute(f'create sequence ladder."{name}"'.encode())
        for statement in make_triggers(events, refusals):
            admin.execute(statement.encode())


def make_triggers(events: Mapping[str, str], refusals: Sequence[str]) -> Iterator[str]:
    """Yield what removes the triggers of the last cell, and what makes those of this one."""
    for point, event in events.items():
        for table in TABLES:
            yield f'drop trigger if exists "{point}" on {table}'
        if any(name.startswith(f"{point}.") for name in refusals):
            yield f"""
                create constraint trigger "{point}"
                after {event}
                deferrable initially deferred
                for each row
                execute function ladder.refuse_commit('{point}')
            """


def list_refused(env: Mapping[str, str]) -> list[str]:
    """Return the refusals that have happened."""
    with connect_as_admin(dict(env), "DATABASE_URL") as admin:
        return [name for (name,) in admin.execute(REFUSED.encode())]
