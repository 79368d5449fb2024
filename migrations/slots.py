"""Replication slots: a slot cannot be made in a transaction that has written, so it has a step of its own."""

from sqlalchemy import Connection, text

STATE = text("""
    select active, database, database = current_database() as ours
    from pg_replication_slots where slot_name = :slot
""")
MAKE = text("select pg_create_logical_replication_slot(:slot, 'pgoutput')")
DROP = text("select pg_drop_replication_slot(:slot)")


def make_slot(admin: Connection, slot: str) -> None:
    """Make the slot before the first outbox row: what is written before a slot exists is never published."""
    state = admin.execute(STATE, {"slot": slot}).first()
    if state is None:
        admin.execute(MAKE, {"slot": slot})
    elif not state.ours:  # slots are the server's, not the database's
        raise SystemExit(f"slot {slot} belongs to database {state.database}: use --without-slots for a copy")


def drop_slot(admin: Connection, slot: str) -> None:
    """Drop the slot, unless somebody reads from it: then say so, and change nothing."""
    state = admin.execute(STATE, {"slot": slot}).first()
    if state is None or not state.ours:
        return
    if state.active:
        raise SystemExit(f"slot {slot} is in use: stop its connector first, then run the downgrade again")
    admin.execute(DROP, {"slot": slot})
