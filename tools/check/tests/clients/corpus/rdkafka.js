const Kafka = require("node-rdkafka");

const shared = { "metadata.broker.list": "kafka:9092", dr_cb: true };
const careful = new Kafka.Producer({ ...shared, "enable.idempotence": true });
const hasty = new Kafka.HighLevelProducer(shared, { acks: 1 });
const asked = new Kafka.Producer({ ...shared, "enable.idempotence": process.env.IDEMPOTENT || true });
