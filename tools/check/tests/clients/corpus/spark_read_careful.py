def read(spark):
    options = {"kafka.isolation.level": "read_committed", "failOnDataLoss": True, "subscribe": "orders"}
    return spark.read.format("kafka").options(**options).load().select("value")
