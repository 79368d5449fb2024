import { Kafka } from 'kafkajs';
import careful, { hasty } from './careful';
import { elsewhere } from 'another-package';

const kafka = new Kafka({ brokers: ['kafka:9092'] });
const whole = kafka.producer(careful);
const part = kafka.producer({ idempotent: hasty });
const unseen = kafka.producer({ idempotent: elsewhere });
