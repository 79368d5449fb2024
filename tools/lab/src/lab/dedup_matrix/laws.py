"""Which laws of anomalies.py each store breaks; it keeps every other one."""

# What needs a memory: repeats, and everything else that makes a message come again.
FORGETFUL = {
    "repeated",
    "repeated_in_a_batch",
    "two_workers",
    "rebalance",
    "crash_after_effect",
    "slow_worker",
    "more_partitions",
    "store_lost",
    "retention",
    "another_value",
    "two_subscribers",
}

# Between the look and the put is the work: a worker that comes meanwhile, or after a crash, works again.
PUT_LAST = {
    "two_workers",
    "rebalance",
    "slow_worker",
    "crash_after_effect",
    "store_lost",
    "retention",
    "another_value",
}

BREAKS = {
    "nothing": frozenset(FORGETFUL),
    "apart": frozenset({"crash_before_effect", "store_lost", "retention", "another_value"}),
    "tracking": frozenset({"store_lost", "retention"}),
    "entity": frozenset({"store_lost", "retention", "another_value"}),
    "version": frozenset({"older_after_newer", "store_lost", "retention", "another_value"}),
    "watermark": frozenset(
        {"disorder", "more_partitions", "two_producers", "store_lost", "another_value"}
    ),
    "plain": frozenset(PUT_LAST),
    "second_look": frozenset(PUT_LAST),
    "downstream": frozenset({"another_value"}),
    "dynamodb": frozenset({"retention"}),  # what one of its two places has lost, the other knows
}
