const kafka = {
  clientId: 'orders',
  producer: { idempotent: true, maxInFlightRequests: 1 },
};

module.exports = { kafka, acks: 1 };
