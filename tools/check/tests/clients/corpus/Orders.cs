var producer = new ProducerBuilder<string, string>(new ProducerConfig { Acks = Acks.All }).Build();
