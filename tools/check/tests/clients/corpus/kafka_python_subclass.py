from kafka import KafkaProducer


class Orders(KafkaProducer):
    def __init__(self) -> None:
        super().__init__(bootstrap_servers="kafka:9092", acks=1)
