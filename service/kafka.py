"""What the Kafka client is told, and why where it is not what the client would do by itself."""

from service.settings import Settings


def kafka_settings(settings: Settings) -> dict[str, str | int | bool]:
    """The consumer's settings; each differs from its default for the reason beside it."""
    return {
        "bootstrap.servers": settings.kafka_bootstrap_servers,
        "group.id": settings.group_id,
        "enable.auto.commit": False,  # an offset is committed after the work, never before
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",  # lost records are said, not skipped
        "partition.assignment.strategy": "cooperative-sticky",  # a rebalance takes only what moves
        "session.timeout.ms": settings.session_timeout_ms,
        "heartbeat.interval.ms": settings.session_timeout_ms // 3,
        "max.poll.interval.ms": settings.max_poll_interval_ms,
        "allow.auto.create.topics": False,
        "check.crcs": True,
        "queued.max.messages.kbytes": settings.prefetch_kib,
        "fetch.max.bytes": settings.prefetch_kib * 1024,
        "fetch.queue.backoff.ms": 10,  # by default a full queue makes the fetcher sleep for a second
        "message.max.bytes": settings.prefetch_kib * 1024,
    }
