from kafka import KafkaProducer

producer = KafkaProducer(
    enable_idempotence=True,
    retries=0,
)
