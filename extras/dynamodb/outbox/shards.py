"""Which shards may be read now, and which are gone with records that were not sent. No AWS here.

A shard is closed after some hours, or when it is split, and its children go on where it ends. So a
child is read when its parent is done: else a later event of an aggregate would pass an earlier one.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

START = ""  # the checkpoint before the first record


class Shard(NamedTuple):
    """A shard as the stream lists it."""

    shard_id: str
    parent_id: str | None


class Lease(NamedTuple):
    """What the shard table has of a shard."""

    shard_id: str
    owner: str
    token: int  # grows with each change: whoever has seen a lower one comes too late
    lease_ms: int
    checkpoint: str  # the last record that was sent
    is_done: bool


class LostRecordsError(Exception):
    """The stream has deleted records that were not sent; the text says where."""


def find_readable(listed: Sequence[Shard], leases: Mapping[str, Lease]) -> list[str]:
    """Return the ids of the shards that are not done and whose parents are.

    A shard is on the list for a day after it was closed. One that is not done by then, or whose
    parent came and went without us, had records that nobody has sent.
    """
    there = {shard.shard_id for shard in listed}
    for lease in leases.values():
        if not lease.is_done and lease.shard_id not in there:
            raise LostRecordsError(f"shard {lease.shard_id} is gone before it was read to its end")
    return [shard.shard_id for shard in listed if is_readable(shard, there, leases)]


def is_readable(shard: Shard, there: set[str], leases: Mapping[str, Lease]) -> bool:
    """Return whether a shard may be read now."""
    lease = leases.get(shard.shard_id)
    if lease:
        return not lease.is_done
    return is_parent_done(shard, there, leases)


def is_parent_done(shard: Shard, there: set[str], leases: Mapping[str, Lease]) -> bool:
    """Return whether a shard that is new to us may begin."""
    parent_id = shard.parent_id
    if parent_id is None:
        return True
    parent = leases.get(parent_id)
    if parent:
        return parent.is_done
    if parent_id not in there:
        raise LostRecordsError(f"shard {parent_id} came and went before it was read")
    return False


def find_roots(listed: Sequence[Shard]) -> list[Shard]:
    """Return the shards with which a relay begins that has never read the stream."""
    there = {shard.shard_id for shard in listed}
    return [shard for shard in listed if shard.parent_id not in there]
