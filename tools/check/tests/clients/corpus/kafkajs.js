const { Kafka } = require("kafkajs");

const kafka = new Kafka({ brokers: ["kafka:9092"] });
const careful = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
const hasty = kafka.producer();
const refused = kafka.producer({ idempotent: true, retry: { retries: 0 } });
const reader = kafka.consumer({ groupId: "orders" });

async function read() {
  await reader.subscribe({ topic: "orders", fromBeginning: true });
}
