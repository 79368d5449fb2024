"""From topic to topic, each number once: consume, filter and produce in one Kafka transaction."""
