"""What people do to a database so that it refuses good messages, and how each is mended."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.client import connect


@contextmanager
def changed(change: str, mend: str) -> Iterator[None]:
    """Change the database for a block."""
    execute(change)
    try:
        yield
    finally:
        execute(mend)


def execute(statements: str) -> None:
    """Change the database as its administrator does."""
    with connect(role="postgres") as admin:
        admin.execute(statements.encode())


class Change(NamedTuple):
    """What somebody does to the database, how it is mended, and what then refuses."""

    change: str
    mend: str
    cause: str


TRIGGER = """
    create function refuse() returns trigger language plpgsql as
        'begin {body} return new; end';
    create trigger refusing before insert on fulfillment for each row {when}
        execute function refuse()
"""
DROP_TRIGGER = "drop trigger refusing on fulfillment; drop function refuse"
CHECK = "alter table fulfillment add constraint no_13 check ({}) not valid"
DROP_CHECK = "alter table fulfillment drop constraint no_13"

# Whatever comes is refused, and the message is never to blame.
FOR_ALL = {
    "a NOT NULL column": Change(
        "alter table fulfillment add column region text not null default '';"
        " alter table fulfillment alter column region drop default",
        "alter table fulfillment drop column region",
        "23502 region",
    ),
    "a CHECK": Change(CHECK.format("false"), DROP_CHECK, "23514 no_13"),
    "a deferred constraint": Change(
        """
        create function refuse() returns trigger language plpgsql as
            'begin raise exception using errcode = ''23503''; end';
        create constraint trigger refusing after insert on fulfillment
            deferrable initially deferred for each row execute function refuse()
        """,
        DROP_TRIGGER,
        "23503 refuse",
    ),
    "a trigger": Change(
        TRIGGER.format(body="raise exception ''no'';", when=""), DROP_TRIGGER, "P0001 refuse"
    ),
    "a dropped type": Change(
        TRIGGER.format(body="perform null::no_such_type;", when=""), DROP_TRIGGER, "42704 refuse"
    ),
    "a dropped function": Change(
        "alter function fulfilled_by rename to away",
        "alter function away rename to fulfilled_by",
        "42883",
    ),
    "a dropped column": Change(
        "alter table fulfillment rename column customer_id to away",
        "alter table fulfillment rename column away to customer_id",
        "42703",
    ),
    "a revoked grant": Change(
        "revoke insert on fulfillment from app", "grant insert on fulfillment to app", "42501"
    ),
    "a grant on dead letters": Change(
        "revoke insert on dead_letter from app", "grant insert on dead_letter to app", "42501"
    ),
}

# Only what a single customer sends is refused.
FOR_ONE = {
    "a CHECK": Change(CHECK.format("customer_id <> 'c-13'"), DROP_CHECK, "23514 no_13"),
    "a trigger": Change(
        TRIGGER.format(body="raise exception ''no'';", when="when (new.customer_id = 'c-13')"),
        DROP_TRIGGER,
        "P0001 refuse",
    ),
}
