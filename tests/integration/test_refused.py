"""`pipeline status` counts what was refused, on a real database."""

from pathlib import Path

import pytest

from ops.refused import look_at_refused
from ops.stack.stack import Stack
from tests.client import connect, fresh


@pytest.fixture
def topic(spoiled: Stack) -> str:
    """A topic that no other test uses."""
    return fresh("refused")


def test_what_was_refused_is_counted_since_the_last_look(
    spoiled: Stack, tmp_path: Path, topic: str
) -> None:
    """Dead letters and audit refusals are counted at each look, with what is fresh of them.

    Control: those that are an hour old count, but are not fresh.
    """
    env, file = spoiled.env(), tmp_path / "looked.json"
    before = look_at_refused(env, file)
    assert before is not None
    with connect("fulfillment", "postgres") as admin:
        bury = """
            insert into dead_letter (topic, partition, "offset", kind, reason, buried_at)
            select %s, 0, number, 'invalid', 'test', now() - %s::interval
            from generate_series(1, %s) as number
        """
        admin.execute(bury, [topic, "1 minute", 12])
        admin.execute(bury, [f"{topic}.old", "1 hour", 20])
        track = """
            insert into tracking
                (subscriber, message_id, value_sha256, topic, partition, "offset", audit_error)
            select %s, %s || number, sha256(''), %s, 0, number, '422 test'
            from generate_series(1, 11) as number
        """
        admin.execute(track, [topic, topic, topic])
        try:
            after = look_at_refused(env, file)
            again = look_at_refused(env, file)
        finally:
            admin.execute("delete from dead_letter where topic like %s", [f"{topic}%"])
            admin.execute("delete from tracking where topic = %s", [topic])
    assert after is not None
    assert after["last_look"] is not None
    assert after["dead_letters"]["since_last_look"] == 32
    assert after["dead_letters"]["fresh"] == before["dead_letters"]["fresh"] + 12
    assert after["audit_refusals"]["since_last_look"] == 11
    assert after["audit_refusals"]["fresh"] == before["audit_refusals"]["fresh"] + 11
    assert again is not None
    assert again["dead_letters"]["since_last_look"] == 0


def test_without_a_database_it_is_unknown(spoiled: Stack, tmp_path: Path) -> None:
    """A database that does not answer is no good news, and no traceback."""
    env = spoiled.env() | {"DATABASE_URL": "postgresql://app@127.0.0.1:1/fulfillment"}
    assert look_at_refused(env, tmp_path / "looked.json") is None
