"""What the service counts, under Prometheus names."""

from prometheus_client import Counter, Gauge, Histogram

SIZES = (1, 5, 10, 50, 100, 200, 300, 400, 500, 1000)
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)

BATCH_RECORDS = Histogram("batch_records", "Records in a batch", buckets=SIZES)
STAGE_SECONDS = Histogram("stage_seconds", "How long a stage took, outages included", ["stage"], buckets=SECONDS)
FULFILLED = Counter("fulfilled_messages", "Messages that became a fulfillment")
REJECTED = Counter("rejected_messages", "Messages for an order that was already fulfilled")
DUPLICATES = Counter("duplicate_messages", "Messages that had been handled before, removed")
DEAD_LETTERS = Counter("dead_letters", "Records that are no message", ["kind"])
AUDITED = Counter("audited_messages", "Audit entries that the receiver accepted")
AUDIT_ERRORS = Counter("audit_errors", "Audit entries that the receiver refused for good: look at each one")
RETRIES = Counter("retries", "Attempts repeated because of an outage", ["stage"])
ABANDONED = Counter("abandoned_batches", "Batches given up because of a rebalance or a stop")
LAG = Gauge("lag_records", "Records not yet handled", ["partition"])
