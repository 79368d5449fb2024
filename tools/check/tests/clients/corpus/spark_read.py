def read(spark):
    options = {"kafka.bootstrap.servers": "kafka:9092", "failOnDataLoss": "false"}
    return spark.readStream.format("kafka").options(**options).option("subscribe", "orders").load()
