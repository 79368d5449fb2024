"""What a batch costs, counted on a real Postgres: none of it depends on the machine's speed."""

from collections.abc import Iterator

import pytest

from lab.bench.cost import REDELIVERY, WITH_MARK, WRITE_PATH, count
from lab.environment import drop_databases, make_databases
from ops.stack.stack import Stack
from tests.client import fresh

Costs = dict[str, tuple[float, float, float]]


@pytest.fixture(scope="module")
def costs(clean_stack: Stack) -> Iterator[Costs]:
    """Statements a batch, commits a batch, bytes an order: on two databases of their own."""
    env = make_databases(clean_stack, fresh("cost").replace("-", "_"))
    try:
        yield count(env)
    finally:
        drop_databases(env)


def test_a_batch_is_one_statement_and_one_commit(costs: Costs) -> None:
    """Five hundred new orders cost one statement and one commit, whatever is in them."""
    assert costs[WRITE_PATH][:2] == (1, 1)


def test_the_audit_mark_is_one_statement_and_one_commit_more(costs: Costs) -> None:
    """Marking all answers is one statement and one commit; the POST before is in no transaction."""
    assert costs[WITH_MARK][:2] == (2, 2)


def test_a_batch_that_is_known_costs_one_statement_more_and_no_mark(costs: Costs) -> None:
    """Only when ids did not come back is there a second statement; audited ones are bypassed."""
    assert costs[REDELIVERY][:2] == (2, 2)


def test_an_order_costs_little_write_ahead_log(costs: Costs) -> None:
    """At most 1.6 kB for the write path and 2.0 kB with the mark, without full-page images."""
    assert costs[WRITE_PATH][2] <= 1600
    assert costs[WITH_MARK][2] <= 2000
    assert costs[REDELIVERY][2] <= 100
