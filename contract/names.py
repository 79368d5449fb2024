"""The names that more than one room uses; where a setting can change one, this is its default."""

from uuid import UUID

INPUT_TOPIC = "order.events"
DEAD_LETTER_TOPIC = "dead-letter.events"
AUDIT_TOPIC = "audit.events"

DATABASE = "fulfillment"
AUDIT_DATABASE = "audit"

# The topics that are not published from the service's own outbox, each with the database that is.
OTHER_OUTBOXES = {AUDIT_TOPIC: AUDIT_DATABASE}

# Whose tracking this is, and the name of the consumer group. The ids that the default subscriber
# derives do not contain it; those of any other subscriber do.
SUBSCRIBER = "fulfillment"

# A header of a record that is sent again: the position of its dead letter, topic/partition/offset.
REPLAY_HEADER = "replay_of"

# Every derived id starts from it. Never change it in a system that runs: every id would be new.
NAMESPACE = UUID("6f1d1c1e-54f5-5c29-9d0b-0a6bd2c6a9a4")
