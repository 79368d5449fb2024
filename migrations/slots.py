"""Replication slots: a slot cannot be made in a transaction that has written, so it has a step of its own."""

from sqlalchemy import Connection, text

STATE = text("select active from pg_replication_slots where slot_name = :slot")
MAKE = text("select pg_create_logical_replication_slot(:slot, 'pgoutput')")
DROP = text("select pg_drop_replication_slot(:slot)")


def make_slot(admin: Connection, slot: str) -> None:
    """Make the slot before the first outbox row: what is written before a slot exists is never published."""
    if admin.execute(STATE, {"slot": slot}).first() is None:
        admin.execute(MAKE, {"slot": slot})


def drop_slot(admin: Connection, slot: str) -> None:
    """Drop the slot, unless somebody reads from it: then say so, and change nothing."""
    state = admin.execute(STATE, {"slot": slot}).first()
    if state is not None and state.active:
        raise SystemExit(f"slot {slot} is in use: stop its connector first, then run the downgrade again")
    if state is not None:
        admin.execute(DROP, {"slot": slot})
