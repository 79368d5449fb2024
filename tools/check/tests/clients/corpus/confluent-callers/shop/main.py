from shop.clients import Hasty, Sender

first = Sender("kafka:9092", acks="all")
second = Sender("kafka:9092")
careless = Hasty("kafka:9092", choose())
