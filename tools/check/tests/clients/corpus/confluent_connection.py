from confluent_kafka import Consumer

from company.kafka import connection

decided = Consumer(
    {
        **connection("broker-1:9092"),
        "group.id": "orders",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
)
undecided = Consumer({**connection("broker-1:9092"), "group.id": "orders"})
