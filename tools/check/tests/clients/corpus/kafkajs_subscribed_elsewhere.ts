import { Kafka } from 'kafkajs';

export const consumer = new Kafka({ brokers: ['kafka:9092'] }).consumer({ groupId: 'orders' });
