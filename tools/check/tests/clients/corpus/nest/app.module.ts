import { Module } from '@nestjs/common';
import { ClientsModule, Transport } from '@nestjs/microservices';

@Module({
  imports: [
    ClientsModule.register([
      {
        name: 'ORDERS',
        transport: Transport.KAFKA,
        options: { client: { brokers: ['kafka:9092'] }, consumer: { groupId: 'orders' } },
      },
      {
        name: 'CAREFUL',
        transport: Transport.KAFKA,
        options: { client: { brokers: ['kafka:9092'] }, producer: { idempotent: true }, send: { acks: -1 } },
      },
      { name: 'LATER', transport: Transport.KAFKA, options: optionsOf('later') },
      { name: 'OTHER', transport: Transport.TCP },
    ]),
  ],
})
export class AppModule {}
