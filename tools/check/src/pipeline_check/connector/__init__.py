"""Outbox connectors: rules about what Debezium will really do with a configuration beside this database and worker."""
