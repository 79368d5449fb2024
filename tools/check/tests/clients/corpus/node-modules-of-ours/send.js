const { Kafka } = require('kafkajs');
const config = require('./config');
const { kafka: settings } = require('./config');

const kafka = new Kafka({ brokers: ['kafka:9092'] });
const whole = kafka.producer(config.kafka.producer);
const part = kafka.producer({ idempotent: settings.producer.idempotent });
