"""DynamoDB: a dedup store with leases and fencing tokens, and an outbox that needs no Postgres."""
