package settings

import "github.com/IBM/sarama"

const Acks = sarama.WaitForAll

func Careful() *sarama.Config {
	config := sarama.NewConfig()
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = Acks
	config.Producer.Retry.Max = 100
	config.Net.MaxOpenRequests = 1
	return config
}
