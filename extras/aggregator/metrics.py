"""What the aggregator counts beside the service's own metrics."""

from prometheus_client import Counter

TOTALS = Counter("batch_totals", "Groups whose total was published", ["by"])  # live or replay
UNRECOVERABLE = Counter(
    "unrecoverable_batches", "Groups whose records are gone: look at each of them"
)
