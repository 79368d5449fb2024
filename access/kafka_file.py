"""KAFKA_CONFIG_FILE: whatever else a client may be told, as long as it breaks no promise."""

from pathlib import Path
from typing import NamedTuple


class Promise(NamedTuple):
    """The values under which a promise holds, and what any other would break."""

    values: frozenset[str]
    otherwise: str


def only(*values: str, otherwise: str) -> Promise:
    """Return a promise that holds under these values."""
    return Promise(frozenset(values), otherwise)


PROMISES = {
    "enable.auto.commit": only(
        "false", otherwise="offsets would be committed before the work is done"
    ),
    "enable.auto.offset.store": only(
        "false", otherwise="offsets would be committed before the work is done"
    ),
    "auto.offset.reset": only("error", otherwise="records that are gone would be passed over"),
    "isolation.level": only(
        "read_committed", otherwise="what a producer has aborted would be handled"
    ),
    "check.crcs": only("true", otherwise="bytes that a disk has changed would be handled"),
    "enable.idempotence": only("true", otherwise="a repeated request would be a second record"),
    "acks": only("all", "-1", otherwise="an acknowledged record could be lost with its broker"),
    "request.required.acks": only(
        "all", "-1", otherwise="an acknowledged record could be lost with its broker"
    ),
    "max.in.flight.requests.per.connection": only(
        *"12345", otherwise="records could change places when a request is repeated"
    ),
    "partitioner": only(
        "murmur2_random", otherwise="a key would come to another partition than Java's clients use"
    ),
    "enable.ssl.certificate.verification": only(
        "true", otherwise="anybody could take the broker's place"
    ),
    "ssl.endpoint.identification.algorithm": only(
        "https", otherwise="anybody with a certificate could take the broker's place"
    ),
}
BY_THE_PROGRAM = "the program itself"
# What is set elsewhere, so that this file could not change it. Secrets have files of their own.
ELSEWHERE = {
    "bootstrap.servers": "KAFKA_BOOTSTRAP_SERVERS",
    "metadata.broker.list": "KAFKA_BOOTSTRAP_SERVERS",
    "group.id": "GROUP_ID",
    "group.instance.id": "GROUP_INSTANCE_ID",
    "session.timeout.ms": "SESSION_TIMEOUT_MS",
    "max.poll.interval.ms": "MAX_POLL_INTERVAL_MS",
    "queued.max.messages.kbytes": "PREFETCH_KIB",
    "security.protocol": "KAFKA_SECURITY_PROTOCOL",
    "sasl.mechanism": "KAFKA_SASL_MECHANISM",
    "sasl.mechanisms": "KAFKA_SASL_MECHANISM",
    "sasl.username": "KAFKA_SASL_USERNAME",
    "sasl.password": "KAFKA_SASL_PASSWORD_FILE",
    "ssl.ca.location": "KAFKA_SSL_CA_FILE",
    "ssl.certificate.location": "KAFKA_SSL_CERTIFICATE_FILE",
    "ssl.key.location": "KAFKA_SSL_KEY_FILE",
    "heartbeat.interval.ms": BY_THE_PROGRAM,
    "partition.assignment.strategy": BY_THE_PROGRAM,
    "topic.metadata.refresh.interval.ms": BY_THE_PROGRAM,
    "fetch.queue.backoff.ms": BY_THE_PROGRAM,
    "enable.partition.eof": BY_THE_PROGRAM,
    "linger.ms": BY_THE_PROGRAM,
    "message.timeout.ms": BY_THE_PROGRAM,
    "transactional.id": BY_THE_PROGRAM,
    "transaction.timeout.ms": BY_THE_PROGRAM,
    "client.id": BY_THE_PROGRAM,
    "log_level": BY_THE_PROGRAM,
}


class ConfigFileError(ValueError):
    """The file cannot be used as it is; the text says which line, and why."""


def read_config(file: Path) -> dict[str, str]:
    """Return the settings in a file of lines like name=value, unless one of them is refused."""
    try:
        lines = file.read_text().splitlines()
    except OSError as error:
        raise ConfigFileError(f"KAFKA_CONFIG_FILE={file}: {error.strerror}") from None
    config: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        is_empty = not text or text.startswith("#")
        if is_empty:
            continue
        name, equals, value = (part.strip() for part in text.partition("="))
        where = f"{file}, line {number}"
        if not (name and equals):
            raise ConfigFileError(f"{where}: should be name=value")
        if name in config:
            raise ConfigFileError(f"{where}: {name} is there twice")
        refuse(where, name, value)
        config[name] = value
    return config


def refuse(where: str, name: str, value: str) -> None:
    """Refuse what breaks a promise, and what would be ignored because it is set elsewhere."""
    if name in ELSEWHERE:
        raise ConfigFileError(f"{where}: {name} is set by {ELSEWHERE[name]}")
    promise = PROMISES.get(name)
    if promise and value.lower() not in promise.values:
        raise ConfigFileError(f"{where}: {name}={value} is refused: {promise.otherwise}")
