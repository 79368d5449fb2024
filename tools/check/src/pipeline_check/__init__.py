"""An auditor of Kafka settings: which producer is idempotent, and what loses or doubles records."""
