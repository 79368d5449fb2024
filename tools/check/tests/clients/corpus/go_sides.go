package shop

import "github.com/confluentinc/confluent-kafka-go/v2/kafka"

func send() {
	kafka.NewProducer(&kafka.ConfigMap{"go.delivery.reports": true, "enable.idempotence": true, "max.in.flight": 5})
}
