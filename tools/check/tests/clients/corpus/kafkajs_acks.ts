import { Kafka, Producer } from "kafkajs";

export class Orders {
  private producer: Producer;

  constructor(private readonly kafka: Kafka) {
    this.producer = this.kafka.producer({ idempotent: false });
  }

  async send(value: string) {
    await this.producer.send({ topic: "orders", acks: 1, messages: [{ value }] });
  }
}
