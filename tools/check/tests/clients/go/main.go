// Says of each line of settings what sarama and franz-go make of it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
)

type asked map[string]string

func ofSarama(settings asked) error {
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	if text, ok := settings["enable.idempotence"]; ok {
		config.Producer.Idempotent = text == "true"
	}
	acks := map[string]sarama.RequiredAcks{"all": sarama.WaitForAll, "1": sarama.WaitForLocal, "0": sarama.NoResponse}
	if text, ok := settings["acks"]; ok {
		config.Producer.RequiredAcks = acks[text]
	}
	if text, ok := settings["retries"]; ok {
		config.Producer.Retry.Max, _ = strconv.Atoi(text)
	}
	if text, ok := settings["max.in.flight.requests.per.connection"]; ok {
		config.Net.MaxOpenRequests, _ = strconv.Atoi(text)
	}
	if text, ok := settings["transactional.id"]; ok {
		config.Producer.Transaction.ID = text
	}
	return config.Validate()
}

func ofFranz(settings asked) error {
	options := []kgo.Opt{kgo.SeedBrokers("127.0.0.1:1")}
	if settings["enable.idempotence"] == "false" {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	acks := map[string]kgo.Acks{"all": kgo.AllISRAcks(), "1": kgo.LeaderAck(), "0": kgo.NoAck()}
	if text, ok := settings["acks"]; ok {
		options = append(options, kgo.RequiredAcks(acks[text]))
	}
	if text, ok := settings["retries"]; ok {
		number, _ := strconv.Atoi(text)
		options = append(options, kgo.RecordRetries(number))
	}
	if text, ok := settings["max.in.flight.requests.per.connection"]; ok {
		number, _ := strconv.Atoi(text)
		options = append(options, kgo.MaxProduceRequestsInflightPerBroker(number))
	}
	if text, ok := settings["transactional.id"]; ok {
		options = append(options, kgo.TransactionalID(text))
	}
	client, err := kgo.NewClient(options...)
	if err == nil {
		client.Close()
	}
	return err
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		settings := asked{}
		if err := json.Unmarshal(lines.Bytes(), &settings); err != nil {
			panic(err)
		}
		said := map[string]string{}
		for name, of := range map[string]func(asked) error{"sarama": ofSarama, "franz-go": ofFranz} {
			said[name] = ""
			if err := of(settings); err != nil {
				said[name] = err.Error()
			}
		}
		answer, _ := json.Marshal(said)
		fmt.Println(string(answer))
	}
}
