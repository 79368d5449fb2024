const { Kafka } = require('kafkajs');

const admin = new Kafka({ brokers: ['kafka:9092'] }).admin();
await admin.createTopics({
  topics: [
    { topic: 'orders', numPartitions: 2, replicationFactor: 1 },
    { topic: 'payments', replicationFactor: 3 },
    { topic: 'by-the-broker' },
  ],
});
