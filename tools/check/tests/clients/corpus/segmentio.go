package shop

import "github.com/segmentio/kafka-go"

func none() *kafka.Writer {
	return &kafka.Writer{Addr: kafka.TCP("kafka:9092"), Topic: "orders"}
}

func all() *kafka.Writer {
	return kafka.NewWriter(kafka.WriterConfig{Brokers: []string{"kafka:9092"}, Topic: "orders"})
}
