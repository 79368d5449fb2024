"""Every rule of the audit under its stable id: how bad it is, why it matters, and a link."""

from dataclasses import dataclass

from pipeline_check.reading.block import Block
from pipeline_check.rules.finding import Finding, Severity

NOTE, WARNING, ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR
KAFKA = "https://kafka.apache.org/documentation/"
LIBRDKAFKA = "https://github.com/confluentinc/librdkafka/blob/master/INTRODUCTION.md"
SPARK = "https://spark.apache.org/docs/latest/structured-streaming-kafka-integration.html"


@dataclass(frozen=True)
class Rule:
    """What all findings of one rule have in common."""

    severity: Severity
    why: str
    link: str = KAFKA


RULES = {
    # Producers
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
        "an outage that is longer than this loses the record, or leaves it unknown whether it was "
        "written",
        f"{KAFKA}#producerconfigs_delivery.timeout.ms",
    ),
    "worker-not-seen": Rule(
        NOTE,
        "a source connector's producer is not idempotent unless its worker says so",
        f"{KAFKA}#producerconfigs_enable.idempotence",
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
        "if both write to one topic, records with the same key are in different partitions, and "
        "lose their order",
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
        SPARK,
    ),
    "streams-repeats": Rule(
        WARNING,
        "after a crash its input is read again, and what came of it is written again",
        f"{KAFKA}#streamsconfigs_processing.guarantee",
    ),
    "client-not-judged": Rule(NOTE, "there are no rules for it here, so nothing is said about it"),
    "connect-overrides-open": Rule(
        NOTE,
        "everyone who reaches the REST address may change each producer and consumer of the worker",
        f"{KAFKA}#connectconfigs_connector.client.config.override.policy",
    ),
    # Consumers, topics, brokers, and the audit itself
    "consumer-not-seen": Rule(NOTE, "nothing is said about what cannot be seen"),
    "consumer-auto-commit": Rule(
        WARNING,
        "offsets are committed by the clock, also of records that are not handled yet: a crash "
        "skips them",
        f"{KAFKA}#consumerconfigs_enable.auto.commit",
    ),
    "consumer-skips-history": Rule(
        WARNING,
        "a new group, or one whose offsets have expired, starts at the end and never sees what was "
        "there before",
        f"{KAFKA}#consumerconfigs_auto.offset.reset",
    ),
    "consumer-reads-aborted": Rule(
        WARNING,
        "records of transactions that were aborted are handled like the others",
        f"{KAFKA}#consumerconfigs_isolation.level",
    ),
    "consumer-poll-interval": Rule(
        WARNING,
        "a batch that takes longer than this is given to somebody else while it is still being "
        "handled",
        f"{KAFKA}#consumerconfigs_max.poll.interval.ms",
    ),
    "consumer-refused": Rule(ERROR, "it does not start", f"{KAFKA}#consumerconfigs"),
    "spark-source-skips": Rule(
        WARNING,
        "records that are gone before they were read are skipped without an error",
        SPARK,
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
    "cannot-read": Rule(WARNING, "nothing in it is judged"),
    "ignore-without-reason": Rule(ERROR, "nobody will know later why it was looked away"),
    "baseline-stale": Rule(ERROR, "it would hide the next finding of the same line"),
    "ignore-unused": Rule(NOTE, "it would hide the next finding"),
}


def make_finding(rule: str, file: str, line: int, says: str, fix: str) -> Finding:
    """Make a finding of a rule: what becomes effective, and then why it matters."""
    of = RULES[rule]
    return Finding(
        id=rule,
        severity=of.severity,
        file=file,
        line=line,
        message=f"{says}: {of.why}",
        fix=fix,
        link=of.link,
    )


def block_finding(block: Block, rule: str, *, says: str, fix: str, at: str = "") -> Finding:
    """Make a finding about a block, at one of its settings or at its own line."""
    line = block.line_of(at) if at else block.line
    return make_finding(rule, block.file, line, says, fix)
