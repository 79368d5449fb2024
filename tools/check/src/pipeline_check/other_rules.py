"""The rules about consumers, topics and brokers, and about the audit itself."""

from pipeline_check.rule import ERROR, KAFKA, NOTE, WARNING, Rule

OTHER_RULES = {
    "consumer-not-seen": Rule(NOTE, "nothing is said about what cannot be seen"),
    "consumer-auto-commit": Rule(
        WARNING,
        "offsets are committed by the clock, also of records that are not handled yet: a crash skips them",
        f"{KAFKA}#consumerconfigs_enable.auto.commit",
    ),
    "consumer-skips-history": Rule(
        WARNING,
        "a new group, or one whose offsets have expired, starts at the end and never sees what was there before",
        f"{KAFKA}#consumerconfigs_auto.offset.reset",
    ),
    "consumer-reads-aborted": Rule(
        WARNING,
        "records of transactions that were aborted are handled like the others",
        f"{KAFKA}#consumerconfigs_isolation.level",
    ),
    "consumer-poll-interval": Rule(
        WARNING,
        "a batch that takes longer than this is given to somebody else while it is still being handled",
        f"{KAFKA}#consumerconfigs_max.poll.interval.ms",
    ),
    "consumer-refused": Rule(ERROR, "it does not start", f"{KAFKA}#consumerconfigs"),
    "spark-source-skips": Rule(
        WARNING,
        "records that are gone before they were read are skipped without an error",
        "https://spark.apache.org/docs/latest/structured-streaming-kafka-integration.html",
    ),
    "topic-one-replica": Rule(
        WARNING,
        "the one broker that has the topic can lose all of it",
        f"{KAFKA}#basic_ops_increase_replication_factor",
    ),
    "topic-acks-of-one": Rule(
        WARNING,
        "acks=all is satisfied by the leader alone when the others are away",
        f"{KAFKA}#topicconfigs_min.insync.replicas",
    ),
    "topic-insync-blocks": Rule(
        WARNING,
        "as soon as one broker is away nothing can be written with acks=all",
        f"{KAFKA}#topicconfigs_min.insync.replicas",
    ),
    "topic-unclean-election": Rule(
        ERROR,
        "a replica that is behind may become leader, and acknowledged records are gone",
        f"{KAFKA}#topicconfigs_unclean.leader.election.enable",
    ),
    "topic-retention-short": Rule(
        WARNING,
        "a consumer that is away for longer finds its records deleted",
        f"{KAFKA}#topicconfigs_retention.ms",
    ),
    "broker-creates-topics": Rule(
        WARNING,
        "a misspelt name makes a topic with the broker's defaults instead of an error",
        f"{KAFKA}#brokerconfigs_auto.create.topics.enable",
    ),
    "broker-own-topics-one-replica": Rule(
        WARNING,
        "offsets and the state of transactions are on one broker, and lost with it",
        f"{KAFKA}#brokerconfigs_offsets.topic.replication.factor",
    ),
    "cannot-read": Rule(WARNING, "nothing is said about what stands in it"),
    "ignore-without-reason": Rule(ERROR, "nobody will know later why it was looked away"),
    "ignore-unused": Rule(NOTE, "it would hide the next finding"),
}
