def write(frame):
    return (
        frame.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", "kafka:9092")
        .option("kafka.acks", "1")
        .option("topic", "orders")
        .start()
    )
