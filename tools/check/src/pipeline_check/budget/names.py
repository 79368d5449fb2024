"""The names of the intent: what kind of amount each is, and which need not be given."""

# What each name of the intent is.
KINDS = {
    **dict.fromkeys(
        ("poll_interval", "timeout", "database_timeout", "receiver_timeout", "lease", "p99"), "time"
    ),
    **dict.fromkeys(
        ("drain", "stop_grace", "delivery_timeout", "outage", "back_off", "offset_commit"), "time"
    ),
    **dict.fromkeys(
        ("dedup_retention", "topic_retention", "dead_letter_age", "longest_replay"), "time"
    ),
    **dict.fromkeys(
        ("connect_outage", "outbox_retention", "reconciled_age", "audit_key_lifetime"), "time"
    ),
    **dict.fromkeys(("redelivery_window",), "time"),
    **dict.fromkeys(("batch", "attempts", "statements", "margin"), "count"),
    "slot_keep_size": "size",
    "write_rate": "rate",
}
DEFAULTS = {"margin": 2.0, "back_off": 0.0, "offset_commit": 0.0, "statements": 1.0}
