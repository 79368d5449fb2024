// Says of each line of settings what kafkajs makes of it: nothing, or the error that it throws.
const { createInterface } = require("node:readline");
const { Kafka, logLevel } = require("kafkajs");

const kafka = new Kafka({ brokers: ["127.0.0.1:1"], logLevel: logLevel.NOTHING });
const ACKS = { all: -1, 1: 1, 0: 0 };

async function ask(settings) {
  const options = {};
  if ("enable.idempotence" in settings) options.idempotent = settings["enable.idempotence"] === "true";
  if ("retries" in settings) options.retry = { retries: Number(settings.retries) };
  const message = { topic: "orders", messages: [{ value: "x" }] };
  if ("acks" in settings) message.acks = ACKS[settings.acks];
  try {
    await kafka.producer(options).send(message);
  } catch (error) {
    // It is not connected: what is refused by itself is refused before that shows.
    return /disconnected/.test(error.message) ? "" : error.message;
  }
  return "";
}

(async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(JSON.stringify({ kafkajs: await ask(JSON.parse(line)) }));
  }
})();
