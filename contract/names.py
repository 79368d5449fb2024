"""The names that more than one room uses. Settings change some of them for one machine; these are the defaults."""

from uuid import UUID

INPUT_TOPIC = "order.events"
DEAD_LETTER_TOPIC = "dead-letter.events"
AUDIT_TOPIC = "audit.events"

DATABASE = "fulfillment"
AUDIT_DATABASE = "audit"

# Whose tracking this is, and the name of the consumer group. The ids of the default subscriber do not contain it.
SUBSCRIBER = "fulfillment"

# Every derived id starts from it: never change it in a system that runs, or every id is new.
NAMESPACE = UUID("6f1d1c1e-54f5-5c29-9d0b-0a6bd2c6a9a4")
