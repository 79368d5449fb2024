"""What the filter counts."""

from prometheus_client import Counter

RECORDS = Counter("filter_records", "Records by what became of them", ["outcome"])
ABORTED = Counter("filter_aborted_transactions", "Batches that were taken back, and came again")
