"""What the service counts, under Prometheus names."""

from prometheus_client import Counter, Gauge, Histogram

BATCH_RECORDS = Histogram(
    "batch_records",
    "Records in a batch",
    buckets=(1, 5, 10, 50, 100, 200, 500, 1000),
)
STAGE_SECONDS = Histogram(
    "stage_seconds",
    "How long a stage took, outages included",
    ["stage"],
)
MESSAGES = Counter(
    "messages",
    "What became of messages; look at audit_refused and dropped",
    ["outcome"],
)
DEAD_LETTERS = Counter(
    "dead_letters",
    "Records that are no message",
    ["kind"],
)
REFUSALS = Counter(
    "refusals",
    "Records that the database or the audit receiver refused, and what became of them",
    ["kind", "code", "name", "verdict"],
)
RETRIES = Counter(
    "retries",
    "Attempts repeated because of an outage",
    ["stage"],
)
ABANDONED = Counter(
    "abandoned_batches",
    "Batches given up because of a rebalance or a stop",
)
PARKED = Gauge(
    "parked_records",
    "Records that wait behind a dead letter of their key, as of the last look",
)
PARKING_LIMIT = Gauge(
    "parking_limit_records",
    "How many records may wait behind dead letters (PARK_LIMIT)",
)
LAG = Gauge(
    "lag_records",
    "Records not yet handled",
    ["partition"],
)
SPANS_DROPPED = Counter(
    "spans_dropped",
    "Spans that did not reach the collector; nothing else is lost with them",
)
