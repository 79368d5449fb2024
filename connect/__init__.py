"""Kafka Connect with Debezium: settings, connectors, and the two one-shot steps that bring them to a cluster."""
