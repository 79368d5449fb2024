package shop

import "github.com/IBM/sarama"

func newConfig() (*sarama.Config, error) {
	config := sarama.NewConfig()
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Retry.Max = 100
	return config, nil
}
