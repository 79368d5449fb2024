"""Why a broker does not let us in: a client by itself would try again for ever, and say nothing."""

import logging
import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from access.kafka import KafkaAccess, kafka_connection, read_secret

SECONDS = 8.0
TRY_SECONDS = 0.5
LOGIN = (
    "the broker does not let {name} in: is the password in KAFKA_SASL_PASSWORD_FILE the one of"
    " KAFKA_SASL_USERNAME, and KAFKA_SASL_MECHANISM what the broker offers? ({reason})"
)
CERTIFICATE = (
    "the broker's certificate is not trusted: is KAFKA_SSL_CA_FILE the CA that has signed it, and"
    " is the name in KAFKA_BOOTSTRAP_SERVERS in it? ({reason})"
)
PROTOCOL = (
    "a server answers, but not as a broker with KAFKA_SECURITY_PROTOCOL={protocol} does:"
    " is that what its listener speaks? ({reason})"
)
SENTENCES = {
    KafkaError._AUTHENTICATION: LOGIN,
    KafkaError.SASL_AUTHENTICATION_FAILED: LOGIN,
    KafkaError.UNSUPPORTED_SASL_MECHANISM: LOGIN,
    KafkaError._SSL: CERTIFICATE,
}
# What the client only logs: the other side hangs up at the first word. Once, it may be starting.
HUNG_UP = "in state APIVERSION_QUERY"
HUNG_UP_OFTEN = 3


def explain(error: KafkaError, access: KafkaAccess) -> str:
    """Return the sentence about an error that does not pass by itself; nothing of any other."""
    sentence = SENTENCES.get(error.code(), "")
    return fill(sentence, access, error.str())


def fill(sentence: str, access: KafkaAccess, reason: str) -> str:
    """Return a sentence with what the settings say and the client's own words."""
    return sentence.format(
        name=access.kafka_sasl_username,
        protocol=access.kafka_security_protocol,
        reason=reason,
    )


def renew_password(client: Consumer, access: KafkaAccess | None = None) -> None:
    """Give a client the password that is in the file now: it may have been changed meanwhile.

    The client uses it when it connects the next time, which it goes on trying.
    """
    access = access or KafkaAccess()
    if access.has_login and not access.has_token:
        password = read_secret(access.kafka_sasl_password_file)
        client.set_sasl_credentials(access.kafka_sasl_username, password)


def who_may_not_see(access: KafkaAccess | None = None) -> str:
    """Return how to end a sentence about a missing topic: brokers hide what they deny."""
    access = access or KafkaAccess()
    if not access.has_login:
        return ""
    return f"; or {access.kafka_sasl_username} may not see it (python -m connect acls)"


class Listener(logging.Handler):
    """Hears what the client logs."""

    def __init__(self, hear: Callable[[str], None]) -> None:
        super().__init__()
        self.hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on a line."""
        self.hear(record.getMessage())


def find_reason(
    bootstrap_servers: str,
    access: KafkaAccess | None = None,
    seconds: float = SECONDS,
) -> str:
    """Return why no broker lets us in, or nothing if one does, or if none is there at all."""
    access = access or KafkaAccess()
    reasons: list[str] = []
    hung_up: list[str] = []

    def note(error: KafkaError) -> None:
        reasons.append(explain(error, access))

    def hear(line: str) -> None:
        if HUNG_UP in line:
            hung_up.append(line)
        if len(hung_up) >= HUNG_UP_OFTEN:
            reasons.append(fill(PROTOCOL, access, "it hung up"))

    logger = logging.Logger("kafka")
    logger.addHandler(Listener(hear))
    settings = {**kafka_connection(bootstrap_servers, access), "error_cb": note, "logger": logger}
    client = AdminClient(settings)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not any(reasons):
        try:
            client.list_topics(timeout=TRY_SECONDS)
        except KafkaException:
            client.poll(0)  # the cause comes by the callback alone
        else:
            return ""
    return next((reason for reason in reasons if reason), "")
