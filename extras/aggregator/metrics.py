"""What the aggregator counts beside the service's own metrics."""

from prometheus_client import Counter

TOTALS = Counter("batch_totals", "Batches that were published", ["by"])  # live or replay
UNRECOVERABLE = Counter(
    "unrecoverable_batches", "Batches whose records were gone: look at each one"
)
