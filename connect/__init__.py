"""Kafka Connect with Debezium: settings, connectors, and two one-shot steps that bring them to a cluster."""
