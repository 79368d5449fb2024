from kafka import KafkaProducer

quiet = KafkaProducer(
    bootstrap_servers="broker:9092",
    acks="all",
    api_version=(0, 10, 1),
)
loud = KafkaProducer(
    bootstrap_servers="broker:9092",
    enable_idempotence=True,
    api_version="0.10",
)
fine = KafkaProducer(
    bootstrap_servers="broker:9092",
    enable_idempotence=True,
    acks="all",
    max_in_flight_requests_per_connection=1,
    api_version=(2, 6),
)
