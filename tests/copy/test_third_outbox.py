"""A third outbox, as a copy writes it: refunds, in a database of their own.

third_outbox.patch is all that is written by hand.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import psycopg
import pytest
from dotenv import dotenv_values

from tests.client import Landed, until_published
from tests.copy.copies import PORTS, Copy, make_copy

pytestmark = pytest.mark.prove

BY_HAND = Path(__file__).with_name("third_outbox.patch")
TOPIC = "refund.events"
HOP = f"outbox → {TOPIC}"
NAMESPACE = UUID("a7a3a1a5-7c92-4a36-8c6e-3b8d5d1f4c11")
TRACE = "00-22d265fb57045b82bc2398831b95d3b4-22d265fb57045b82-00"
REFUND = "insert into refund (refund_id, payment_id, amount) values (%s, %s, %s)"
EVENT = """
    insert into outbox
        (event_id, aggregate_type, aggregate_id, event_type, payload, traceparent)
    values (%s, 'refund', %s, 'payment-refunded', %s, %s)
"""


@pytest.fixture(scope="module")
def copy(template: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """Return a copy with the third outbox; whatever it started is stopped."""
    copy = make_copy(template, tmp_path_factory.mktemp("third") / "payments", cache)
    copy.git("apply", str(BY_HAND))
    yield copy
    copy.pipeline("down")


@pytest.fixture(autouse=True)
def _broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tests' client read from the broker of the copy."""
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{PORTS + 1}")


def log_in(copy: Copy, role: str) -> psycopg.Connection[Any]:
    """Connect to the database of the refunds."""
    password_file = copy.path / ".run" / "secrets" / f"{role}_password"
    return psycopg.connect(
        host="127.0.0.1",
        port=PORTS,
        user=role,
        password=password_file.read_text().strip(),
        dbname="refund",
    )


def check_live(copy: Copy) -> str:
    """Return what the check says of what runs; the one broker is always worth a warning."""
    written = dotenv_values(copy.path / ".run" / "env")
    addresses = {name: value for name, value in written.items() if value is not None}
    return copy.pipeline("check", "--live", "connect", "migrations", **addresses).output


def payload(refund_id: str) -> str:
    """Return the body of the event of a refund."""
    return f'{{"refund_id":"{refund_id}","payment_id":"p-1","amount":"12.10"}}'


def event_id(refund_id: str) -> str:
    """Return the id of the event of a refund."""
    return str(uuid5(NAMESPACE, refund_id))


def refund(copy: Copy, refund_ids: Sequence[str]) -> None:
    """Write these refunds and their events in one transaction, as the role that may."""
    with log_in(copy, "refund") as connection:
        for one in refund_ids:
            connection.execute(REFUND, [one, "p-1", "12.10"])
            connection.execute(EVENT, [event_id(one), one, payload(one), TRACE])


def published(refund_ids: Sequence[str]) -> list[Landed]:
    """Return the events of these refunds, once all of them are on the topic."""
    return until_published(TOPIC, lambda event: event.key in refund_ids, len(refund_ids))


def judged_hop(judged: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of the hop from the third outbox to its topic."""
    [found] = [hop for hop in judged["hops"] if hop["hop"] == HOP]
    return dict(found)


def test_lint_types_and_unit_tests_pass(copy: Copy) -> None:
    """All guards are content with what the patch says, and it says no more than they ask for."""
    done = copy.make("lint", "unit", timeout=900)
    assert done.code == 0, done.output


@pytest.mark.parametrize(
    ("forgotten", "test", "named"),
    [
        ("contract/names.py", "unit/test_connect.py", "REFUND_DATABASE"),
        ("migrations/settings.py", "unit/test_connect.py", "migrations/settings.py"),
        ("migrations/server.py", "unit/test_connect.py", "migrations/server.py"),
        ("connect/settings.py", "unit/test_connect.py", "connect/settings.py"),
        ("connect/topics.json", "unit/test_connect.py", "topic refund.events"),
        ("spark/settings.py", "unit/test_connect.py", "spark/settings.py"),
        ("ops/settings.py", "unit/test_ops_drift.py", "ops/settings.py"),
        ("ops/stack/files.py", "unit/test_ops_drift.py", "ops/stack/files.py"),
        ("compose.yaml", "unit/test_ops_drift.py", "REFUND_DATABASE_URL"),
    ],
)
def test_control_a_forgotten_file_is_named(
    copy: Copy, forgotten: str, test: str, named: str
) -> None:
    """Without one file of the patch, a unit test says which."""
    written = (copy.path / forgotten).read_text()
    copy.git("checkout", forgotten)
    done = copy.run("pytest", "-q", f"tests/{test}")
    (copy.path / forgotten).write_text(written)
    assert done.code != 0
    assert named in done.output


def test_each_event_of_the_third_outbox_is_published_once_and_judged(copy: Copy) -> None:
    """Events are on their topic once, with all headers, in the lake, and in the verdict."""
    up = copy.pipeline("up")
    assert up.code == 0, up.output
    ids = [f"r-{number}" for number in range(20)]
    refund(copy, ids)
    events = published(ids)
    assert sorted(event.key for event in events) == sorted(ids)
    for event in events:
        assert event.value.decode() == payload(event.key)
        assert event.headers.pop("ce_time")
        assert {name: value.decode() for name, value in event.headers.items()} == {
            "id": event_id(event.key),
            "event_type": "payment-refunded",
            "traceparent": TRACE,
            "content-type": "application/json",
            "ce_id": event_id(event.key),
            "ce_type": "payment-refunded",
            "ce_source": "/refund",
            "ce_specversion": "1.0",
        }
    sent = copy.pipeline("produce", "--payments", "100")
    assert sent.code == 0, sent.output
    status = copy.pipeline("status")
    assert status.code == 0, status.output
    assert "slot refund_outbox: " in status.output
    assert "findings: 0 errors" in check_live(copy)
    code, judged = copy.reconcile()
    assert code == 0, judged["findings"]
    assert judged_hop(judged)["matched"] == len(ids)


def test_control_an_event_that_the_slot_skips_is_found_and_sent_again(copy: Copy) -> None:
    """An event that was not published is named by reconciliation, and goes out by `resend`."""
    with log_in(copy, "postgres") as admin:
        admin.execute("alter publication outbox drop table outbox")
    refund(copy, ["r-lost"])
    assert "outbox-not-published" in check_live(copy)
    with log_in(copy, "postgres") as admin:
        admin.execute("alter publication outbox add table outbox")
    code, judged = copy.reconcile()
    assert code == 1
    found = [(finding["hop"], finding["outcome"], finding["id"]) for finding in judged["findings"]]
    assert found == [(HOP, "missing", event_id("r-lost"))]

    resent = copy.pipeline("outbox", "resend", "--outbox", "refund", "--since", "1h", "--missing")
    assert resent.code == 0, resent.output
    assert len(published(["r-lost"])) == 1
    code, judged = copy.reconcile()
    assert code == 0, judged["findings"]
