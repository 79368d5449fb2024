from confluent_kafka.admin import NewTopic

topics = [
    NewTopic("orders", num_partitions=3, replication_factor=3),
    NewTopic("events", 3, 3, config={"min.insync.replicas": "2"}),
]
