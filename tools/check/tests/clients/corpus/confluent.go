package shop

import "github.com/confluentinc/confluent-kafka-go/v2/kafka"

const acks = "all"

func careful() (*kafka.Producer, error) {
	settings := &kafka.ConfigMap{"bootstrap.servers": "kafka:9092", "acks": acks}
	settings.SetKey("enable.idempotence", true)
	return kafka.NewProducer(settings)
}

func hasty() (*kafka.Producer, error) {
	return kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": "kafka:9092"})
}
