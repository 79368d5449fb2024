"""What runs: what Postgres, Connect and Kafka answer, and the statement that fixes each finding."""
