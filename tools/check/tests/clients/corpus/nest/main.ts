import { NestFactory } from '@nestjs/core';
import { Transport } from '@nestjs/microservices';

const app = await NestFactory.createMicroservice(AppModule, {
  transport: Transport.KAFKA,
  options: { client: { brokers: ['kafka:9092'] }, consumer: { groupId: 'orders' } },
});
const whole = await NestFactory.createMicroservice(AppModule, {
  transport: Transport.KAFKA,
  options: { consumer: { groupId: 'orders' }, subscribe: { fromBeginning: true } },
});
