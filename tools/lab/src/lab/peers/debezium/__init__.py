"""The outbox example of Debezium: its tables, its statements, its connector, its worker."""
