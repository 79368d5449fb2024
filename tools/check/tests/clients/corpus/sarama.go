package shop

import "github.com/IBM/sarama"

func Careful(brokers []string) (sarama.SyncProducer, error) {
	config := sarama.NewConfig()
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Retry.Max = 30
	config.Net.MaxOpenRequests = 1
	return sarama.NewSyncProducer(brokers, config)
}

func Refused(brokers []string) (sarama.AsyncProducer, error) {
	config := sarama.NewConfig()
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	return sarama.NewAsyncProducer(brokers, config)
}

func Default(brokers []string) (sarama.SyncProducer, error) {
	return sarama.NewSyncProducer(brokers, nil)
}
