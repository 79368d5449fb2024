package shop

import (
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

func franz() {
	first, _ := kgo.NewClient(kgo.ConsumerGroup("orders"), kgo.ConsumeTopics("orders"))
	late, _ := kgo.NewClient(
		kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()),
	)
}

func segmentio() {
	reader := kafka.NewReader(kafka.ReaderConfig{
		GroupID:     "orders",
		StartOffset: kafka.LastOffset,
	})
	record, _ := reader.ReadMessage(ctx)
	alone := kafka.NewReader(kafka.ReaderConfig{Topic: "orders"})
}
