from confluent_kafka.avro import AvroProducer

settings = {"bootstrap.servers": "kafka:9092", "schema.registry.url": "http://registry:8081"}
producer = AvroProducer(settings, default_value_schema=schema)
