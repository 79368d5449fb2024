"""The rules about producers, and about what only shows when several of them are looked at."""

from pipeline_check.rule import ERROR, KAFKA, LIBRDKAFKA, NOTE, WARNING, Rule

PRODUCER_RULES = {
    "producer-not-idempotent": Rule(
        ERROR,
        "a lost acknowledgement is sent again, and the record stays in the log twice",
        f"{KAFKA}#producerconfigs_enable.idempotence",
    ),
    "producer-refused": Rule(ERROR, "it does not start", f"{LIBRDKAFKA}#idempotent-producer"),
    "producer-depends": Rule(WARNING, "nobody who reads this can say whether records are doubled"),
    "producer-default-judged": Rule(NOTE, "with another value the verdict may be another"),
    "producer-acks-lost": Rule(
        ERROR,
        "a record that was acknowledged is lost when one broker fails",
        f"{KAFKA}#producerconfigs_acks",
    ),
    "producer-never-sends": Rule(ERROR, "nothing arrives, and only delivery reports say so"),
    "producer-gives-up": Rule(
        WARNING,
        "an outage that is longer than this loses the record, or leaves it unknown whether it was written",
        f"{KAFKA}#producerconfigs_delivery.timeout.ms",
    ),
    "producer-depends-on-version": Rule(
        NOTE,
        "another version of the client would decide otherwise",
        f"{KAFKA}#producerconfigs_enable.idempotence",
    ),
    "setting-changed-silently": Rule(
        NOTE, "what runs is not what is written", f"{LIBRDKAFKA}#idempotent-producer"
    ),
    "setting-misspelt": Rule(
        WARNING, "the client ignores names that it does not know, and runs without the setting"
    ),
    "partitioner-disagrees": Rule(
        WARNING,
        "if both write to one topic, records with the same key are in different partitions, and lose their order",
        f"{KAFKA}#producerconfigs_partitioner.class",
    ),
    "message-larger-than-topic": Rule(
        WARNING,
        "the producer accepts what the broker refuses: the record is lost, or stops the connector",
        f"{KAFKA}#topicconfigs_max.message.bytes",
    ),
    "spark-sink-repeats": Rule(
        NOTE,
        "a task that runs again writes its records again, whatever the producer's settings are",
        "https://spark.apache.org/docs/latest/structured-streaming-kafka-integration.html",
    ),
    "client-not-judged": Rule(NOTE, "there are no rules for it here, so nothing is said about it"),
    "connect-overrides-open": Rule(
        WARNING,
        "whoever reaches the REST address may change every producer and consumer of the worker",
        f"{KAFKA}#connectconfigs_connector.client.config.override.policy",
    ),
}
