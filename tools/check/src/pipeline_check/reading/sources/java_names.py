"""What Kafka's own constants in Java are worth."""

import re

CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+")
RENAMED = {
    "KEY_SERIALIZER_CLASS": "key.serializer",
    "VALUE_SERIALIZER_CLASS": "value.serializer",
    "KEY_DESERIALIZER_CLASS": "key.deserializer",
    "VALUE_DESERIALIZER_CLASS": "value.deserializer",
}
UNLIKE_THE_OTHERS = {  # constants for settings that do not end like all others
    "MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION": "max.in.flight.requests.per.connection",
    "PRODUCER_PREFIX": "producer.",
    "CONSUMER_PREFIX": "consumer.",
    "MAIN_CONSUMER_PREFIX": "main.consumer.",
}
VALUES: dict[str, object] = {
    "StreamsConfig.EXACTLY_ONCE_V2": "exactly_once_v2",
    "StreamsConfig.EXACTLY_ONCE_BETA": "exactly_once_beta",
    "StreamsConfig.EXACTLY_ONCE": "exactly_once",
    "StreamsConfig.AT_LEAST_ONCE": "at_least_once",
    "EXACTLY_ONCE_V2": "exactly_once_v2",
}


def setting_of(constant: str) -> str:
    """Return the setting that a constant of Kafka's names: ACKS_CONFIG is acks."""
    if constant in UNLIKE_THE_OTHERS:
        return UNLIKE_THE_OTHERS[constant]
    if not constant.endswith("_CONFIG") or not CONSTANT.fullmatch(constant):
        return ""
    name = constant.removesuffix("_CONFIG")
    return RENAMED.get(name, name.lower().replace("_", "."))
