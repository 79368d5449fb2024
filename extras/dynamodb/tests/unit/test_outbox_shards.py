"""Which shards of a stream may be read, and when records are gone."""

import random

import pytest

from extras.dynamodb.outbox.shards import (
    START,
    Lease,
    LostRecordsError,
    Shard,
    find_readable,
    find_roots,
)

SEEDS = range(20)


def lease(shard_id: str, *, done: bool) -> Lease:
    """Return somebody's lease."""
    return Lease(shard_id, "somebody", 1, 1000, START, done)


def leases(**done: bool) -> dict[str, Lease]:
    """Return a lease of each shard, done or not."""
    return {shard_id: lease(shard_id, done=is_done) for shard_id, is_done in done.items()}


SPLIT = [Shard("a", None), Shard("b", "a"), Shard("c", "a"), Shard("d", "b")]


@pytest.mark.parametrize(
    ("known", "readable"),
    [
        ({}, ["a"]),
        ({"a": False}, ["a"]),
        ({"a": True}, ["b", "c"]),
        ({"a": True, "b": False}, ["b", "c"]),
        ({"a": True, "b": True}, ["c", "d"]),
        ({"a": True, "b": True, "c": True, "d": True}, []),
    ],
)
def test_a_child_is_read_when_its_parent_is_done(
    known: dict[str, bool], readable: list[str]
) -> None:
    """A shard that was split has two children, which wait; nobody waits for a cousin."""
    assert find_readable(SPLIT, leases(**known)) == readable


def test_a_child_whose_parent_is_done_and_gone_is_read() -> None:
    """A day after it was closed, the stream does not list the parent any more."""
    assert find_readable([Shard("b", "a")], leases(a=True)) == ["b"]


def test_a_shard_that_is_gone_before_its_end_was_read_is_a_loss() -> None:
    """Nobody knows what came behind its checkpoint."""
    with pytest.raises(LostRecordsError, match="shard a is gone before"):
        find_readable([Shard("b", "a")], leases(a=False))


def test_a_parent_that_came_and_went_is_a_loss() -> None:
    """Between what we know and what is there, a generation is missing."""
    with pytest.raises(LostRecordsError, match="shard b came and went"):
        find_readable([Shard("c", "b")], leases(a=True))


def test_a_relay_begins_with_the_oldest_that_are_there() -> None:
    """Their parents are gone, or there never were any."""
    listed = [Shard("b", "a"), Shard("c", "b"), Shard("x", None)]
    assert find_roots(listed) == [Shard("b", "a"), Shard("x", None)]


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_splits_every_shard_is_read_once_and_after_its_parent(seed: int) -> None:
    """A random tree, and a reader that finishes a random shard that it may read."""
    chance = random.Random(seed)  # noqa: S311 - not cryptography
    listed = [Shard("0", None)]
    listed += [Shard(str(number), str(chance.randrange(number))) for number in range(1, 30)]
    known: dict[str, Lease] = {}
    finished: list[str] = []
    while readable := find_readable(listed, known):
        shard_id = chance.choice(readable)
        known[shard_id] = lease(shard_id, done=True)
        finished.append(shard_id)
    parents = {shard.shard_id: shard.parent_id for shard in listed}
    assert sorted(finished, key=int) == [shard.shard_id for shard in listed]
    for place, shard_id in enumerate(finished):
        assert parents[shard_id] is None or parents[shard_id] in finished[:place]
