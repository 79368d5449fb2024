import kafka

producer = kafka.KafkaProducer(bootstrap_servers="kafka:9092", acks=1)
