"""What a batch costs, counted on real Postgres: none of it depends on how fast the machine is."""

import sys
from collections.abc import Iterator

import pytest
from sqlalchemy import make_url

from lab.bench.cost import count
from lab.bench.place import administer
from ops.stack.stack import Stack
from tests.client import fresh

Costs = dict[str, tuple[float, float, float]]
URLS = ("DATABASE_URL", "AUDIT_DATABASE_URL")


@pytest.fixture(scope="module")
def costs(clean_stack: Stack) -> Iterator[Costs]:
    """Statements a batch, commits a batch, bytes an order: on two databases of their own, gone afterwards."""
    env, name = clean_stack.env(), fresh("cost").replace("-", "_")
    env |= {
        setting: make_url(env[setting]).set(database=f"{name}_{n}").render_as_string()
        for n, setting in enumerate(URLS)
    }
    try:
        migrate = [sys.executable, "-m", "migrations", "upgrade", "--without-slots"]
        clean_stack.supervisor.run(f"migrations@{name}", migrate, env)
        yield count(env)
    finally:
        with administer(env) as admin:
            for n in range(len(URLS)):
                admin.execute(f"drop database if exists {name}_{n} with (force)".encode())


def test_a_batch_is_one_statement_and_one_commit(costs: Costs) -> None:
    """Five hundred new orders cost one statement and one commit, whatever is in them."""
    assert costs["write path"][:2] == (1, 1)


def test_the_audit_mark_is_one_statement_and_one_commit_more(costs: Costs) -> None:
    """The mark of all answers is one statement and one commit; the POST before it is outside any transaction."""
    assert costs["write path and audit mark"][:2] == (2, 2)


def test_a_batch_that_is_known_costs_one_statement_more_and_no_mark(costs: Costs) -> None:
    """Only when ids did not come back is there a second statement; audited before, they are bypassed at once."""
    assert costs["delivered again"][:2] == (2, 2)


def test_an_order_costs_little_write_ahead_log(costs: Costs) -> None:
    """At most 1.6 kB an order for the write path and 2.0 kB with the mark, full-page images left out."""
    assert costs["write path"][2] <= 1600
    assert costs["write path and audit mark"][2] <= 2000
    assert costs["delivered again"][2] <= 100
