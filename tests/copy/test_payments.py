"""A copy for payments: what a person writes by hand, and that the pipeline then judges it rightly.

The files in payments/ are all that is added, changed or deleted after `copier copy`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.copy.copies import BY_HAND, Copy, make_payments

# One booking in another currency than its event, one receipt too many, and one too few.
PLANTED = """
    update booking set currency = 'GBP' where message_id = '{other_currency}';

    insert into outbox (
        event_id, aggregate_type, aggregate_id, event_type, payload, traceparent
    )
    select
        gen_random_uuid(), aggregate_type, aggregate_id, event_type, payload, traceparent
    from outbox
    where event_type = 'receipt-issued' and payload->>'message_id' = '{second_receipt}';

    delete from outbox
    where event_type = 'receipt-issued' and payload->>'message_id' = '{no_receipt}';
"""


@pytest.fixture(scope="module")
def service(
    template: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Copy]:
    """Return a copy with the files by hand laid over it; whatever it started is stopped."""
    copy = make_payments(template, tmp_path_factory.mktemp("by-hand") / "payments", cache)
    yield copy
    copy.pipeline("down")


def test_at_most_eight_files_are_written_by_hand(service: Copy) -> None:
    """Added, changed and deleted ones together, the unit tests of contract and rule among them."""
    changed = service.git("status", "--porcelain", "--untracked-files=all").splitlines()
    assert len(changed) == sum(file.is_file() for file in BY_HAND.rglob("*"))
    assert len(changed) <= 8


def test_lint_types_and_unit_tests_pass(service: Copy) -> None:
    """Currency, two rejections, a second event and other samples need no further edit."""
    done = service.make("lint", "unit", timeout=900)
    assert done.code == 0, done.output


def test_the_rule_obeys_every_law(service: Copy) -> None:
    """Two reasons to reject and a receipt: redelivery, crashes and other workers change nothing."""
    laws = service.make("laws")
    assert laws.code == 0, laws.output


def test_control_a_defect_in_the_rule_is_found(service: Copy) -> None:
    """Bookings that are not written in the sequence of their key are told as the deadlock to be."""
    file = service.path / "service" / "rule.sql"
    sound = file.read_text()
    file.write_text(sound.replace("order by payment_id, n", "order by n"))
    try:
        laws = service.make("laws")
    finally:
        file.write_text(sound)
    assert laws.code != 0
    assert "LawBrokenError: two workers, each with messages that are rivals" in laws.output


@pytest.mark.prove
def test_the_demo_ends_with_a_good_verdict(service: Copy) -> None:
    """Every payment has its booking and its receipt, and each rejection its reason."""
    demo = service.pipeline("demo", "--payments", "500")
    assert demo.code == 0, demo.output
    assert "nothing lost, nothing doubled" in demo.output
    for said in ("unbooked 2", "booked → receipt-issued", "outbox → receipt.events"):
        assert said in demo.output


@pytest.mark.prove
def test_planted_defects_are_found(service: Copy) -> None:
    """Another currency, a second receipt and a missing one are found, each by its message."""
    up = service.pipeline("up")
    assert up.code == 0, up.output
    messages = plant(service)
    code, judged = service.reconcile()
    assert code == 1
    found = {(finding["outcome"], finding["id"]) for finding in judged["findings"]}
    assert found >= messages


def plant(service: Copy) -> set[tuple[str, str]]:
    """Damage three messages in the database, and return what must be found."""
    with service.connect() as connection:
        chosen = connection.execute(
            "select message_id from booking where currency <> 'GBP' order by message_id limit 3"
        ).fetchall()
        other_currency, second_receipt, no_receipt = (message_id for (message_id,) in chosen)
        statements = PLANTED.format(
            other_currency=other_currency, second_receipt=second_receipt, no_receipt=no_receipt
        )
        connection.execute(statements.encode())
    return {
        ("different", other_currency),
        ("duplicate", second_receipt),
        ("missing", no_receipt),
    }
