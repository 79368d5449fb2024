"""Fixes for sources: how each client is told there, by the usual name of the setting."""

from collections.abc import Mapping
from pathlib import PurePath

IN_FLIGHT = "max.in.flight.requests.per.connection"
SARAMA = {
    "enable.idempotence": "config.Producer.Idempotent = true",
    "acks": "config.Producer.RequiredAcks = sarama.WaitForAll",
    "retries": "config.Producer.Retry.Max = 100",
    IN_FLIGHT: "config.Net.MaxOpenRequests = 1",
    "auto.offset.reset": "config.Consumer.Offsets.Initial = sarama.OffsetOldest",
    "isolation.level": "config.Consumer.IsolationLevel = sarama.ReadCommitted",
    "enable.auto.commit": "config.Consumer.Offsets.AutoCommit.Enable = false",
}
FRANZ_GO = {
    "auto.offset.reset": "kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),",
    "isolation.level": "kgo.FetchIsolationLevel(kgo.ReadCommitted()),",
    "enable.idempotence": "remove kgo.DisableIdempotentWrite()",
    "acks": "kgo.RequiredAcks(kgo.AllISRAcks()),",
    "retries": "kgo.RecordRetries(math.MaxInt64),",
    IN_FLIGHT: "kgo.MaxProduceRequestsInflightPerBroker(1),",
}
KAFKA_GO = {
    "auto.offset.reset": "StartOffset: kafka.FirstOffset,",
    "enable.auto.commit": "FetchMessage, and CommitMessages when it is handled",
    "isolation.level": "IsolationLevel: kafka.ReadCommitted,",
    "acks": "RequiredAcks: kafka.RequireAll,",
    "retries": "MaxAttempts: 100,",
}
KAFKAJS = {
    "enable.idempotence": "idempotent: true,",
    "acks": "acks: -1,",
    "retries": "retry: { retries: Number.MAX_SAFE_INTEGER },",
    IN_FLIGHT: "maxInFlightRequests: 1,",
    "auto.offset.reset": "fromBeginning: true,",
    "isolation.level": "readUncommitted: false,",
    "enable.auto.commit": "autoCommit: false,",
}
BY_CLIENT: dict[str, Mapping[str, str]] = {
    "sarama": SARAMA,
    "franz-go": FRANZ_GO,
    "kafka-go": KAFKA_GO,
    "kafkajs": KAFKAJS,
}
FORMS = {
    ".java": 'props.put("{name}", {value});',
    ".kt": 'props["{name}"] = {value}',
    ".go": '"{name}": {value},',
    ".js": "'{name}': {value},",
    ".mjs": "'{name}': {value},",
    ".cjs": "'{name}': {value},",
    ".ts": "'{name}': {value},",
    ".tf": '"{name}" = "{text}"',
    ".sh": '"{name}": "{text}",',
}
COPIES = {
    ".java": ".replicas({text})",
    ".kt": ".replicas({text})",
    ".go": "ReplicationFactor: {text},",
}


def source_fix(file: str, client: str, settings: Mapping[str, str]) -> str:
    """Write settings as a source says them; nothing for a file that is no source."""
    suffix = PurePath(file).suffix
    lines = []
    for name, text in settings.items():
        own = BY_CLIENT.get(client, {}).get(name, "")
        if own or suffix not in FORMS:
            lines.append(own)
            continue
        form = FORMS[suffix]
        if name == "replication.factor" and suffix in COPIES:
            form = COPIES[suffix]
        lines.append(form.format(name=name, text=text, value=literal(suffix, text)))
    return "\n".join(dict.fromkeys(line for line in lines if line))


def literal(suffix: str, text: str) -> str:
    """Return a value as the language writes it."""
    if text in {"true", "false"} or text.isdigit():
        return text
    return f"'{text}'" if suffix in {".js", ".mjs", ".cjs", ".ts"} else f'"{text}"'
