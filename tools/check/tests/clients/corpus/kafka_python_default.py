from kafka import KafkaProducer

producer = KafkaProducer(bootstrap_servers="kafka:9092")
