package shop

import (
	"example.org/shop/settings"
	"github.com/IBM/sarama"
)

func hasty(brokers []string) (sarama.SyncProducer, error) {
	config, err := newConfig()
	if err != nil {
		return nil, err
	}
	return sarama.NewSyncProducer(brokers, config)
}

func careful(brokers []string) (sarama.SyncProducer, error) {
	return sarama.NewSyncProducer(brokers, settings.Careful())
}

func sometimes(brokers []string, safe bool) (sarama.SyncProducer, error) {
	config := settings.Careful()
	if !safe {
		config.Producer.Idempotent = false
	}
	return sarama.NewSyncProducer(brokers, config)
}

func given(brokers []string, config *sarama.Config) (sarama.SyncProducer, error) {
	return sarama.NewSyncProducer(brokers, config)
}
