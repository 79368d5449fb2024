"""Outbox connectors: what Debezium really does with a configuration, this database and worker."""
