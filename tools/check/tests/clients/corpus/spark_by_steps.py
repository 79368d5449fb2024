def write(frame, topic):
    writer = frame.writeStream.format("kafka").option("kafka.bootstrap.servers", "kafka:9092")
    writer = writer.option("kafka.enable.idempotence", False)
    return writer.option("topic", topic).start()
