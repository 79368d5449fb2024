package shop

import "github.com/twmb/franz-go/pkg/kgo"

func careful(brokers ...string) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(brokers...))
}

func hasty(brokers ...string) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()))
}

func refused(brokers ...string) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RequiredAcks(kgo.NoAck()))
}

func send(client *kgo.Client) {
	client.Produce(nil, &kgo.Record{}, nil)
}
