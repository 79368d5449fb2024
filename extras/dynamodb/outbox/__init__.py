"""An outbox without Postgres: claim, entity and event in one transaction of DynamoDB, and a relay.

Read handler.py and transaction.py first, then relay.py.
"""
