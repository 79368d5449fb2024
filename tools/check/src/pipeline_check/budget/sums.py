"""The inequalities themselves, and what happens when one does not hold."""

from pipeline_check.budget.inequality import Inequality

INEQUALITIES = (
    Inequality(
        "budget-poll-interval",
        "poll_interval >= margin * (batch * (attempts * timeout + back_off + statements * database_timeout)"
        " + offset_commit)",
        "a slower batch loses its partitions while it is in work, and another worker does it again",
    ),
    Inequality(
        "budget-caller",
        "timeout > receiver_timeout",
        "a caller that gives up first never learns the answer",
    ),
    Inequality(
        "budget-lease",
        "lease > p99",
        "a lease that ends in the middle of the work lets a second owner in",
    ),
    Inequality(
        "budget-drain",
        "stop_grace > drain",
        "a stop that takes longer ends in a kill, amid a batch",
    ),
    Inequality(
        "budget-delivery",
        "delivery_timeout >= outage",
        "a producer that gives up earlier drops what it was handed",
    ),
    Inequality(
        "budget-dedup",
        "dedup_retention >= topic_retention + dead_letter_age + longest_replay + connect_outage",
        "a redelivery older than the dedup memory is handled as if it were new",
    ),
    Inequality(
        "budget-outbox",
        "outbox_retention >= reconciled_age",
        "what is purged before it is reconciled is never proved",
    ),
    Inequality(
        "budget-audit-key",
        "audit_key_lifetime >= redelivery_window",
        "a POST repeated after its key was forgotten has a second effect",
    ),
    Inequality(
        "budget-slot",
        "slot_keep_size / write_rate >= connect_outage",
        "the server then gives up the slot, and every event since is lost to Connect",
    ),
)
