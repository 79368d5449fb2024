"""The names that the service and the Spark part share."""

INPUT_TOPIC = "batch.events"
TOTAL_TOPIC = "batch-total.events"

# The header of records that are read again, and of the events that come of them.
REPLAY = "replay"

# The events that end a group. No other subscriber may publish them.
TOTALLED = "batch-totalled"
UNRECOVERABLE = "batch-unrecoverable"
