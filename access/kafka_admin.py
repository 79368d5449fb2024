"""Questions to the broker, for a process that lives long."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from access.kafka import kafka_connection

Answer = TypeVar("Answer")


def make_client(bootstrap_servers: str) -> AdminClient:
    """Return a client with what the environment and the files say now."""
    return AdminClient(kafka_connection(bootstrap_servers))


class Admin:
    """Asks the broker, and takes a new client after each question that failed.

    A client that once was told of no brokers may never find one again (librdkafka's issue 5301).
    And a new one reads the password that is in the file now.
    """

    def __init__(
        self, bootstrap_servers: str, make_client: Callable[[str], AdminClient] = make_client
    ) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.make_client = make_client
        self.client: AdminClient | None = None

    def ask(self, question: Callable[[AdminClient], Answer]) -> Answer:
        """Return what the broker answers, or raise a KafkaException."""
        client = self.client or self.make_client(self.bootstrap_servers)
        self.client = client
        try:
            return question(client)
        except KafkaException:
            self.client = None
            raise


def wait_for(answer: Future[Answer], seconds: float) -> Answer:
    """Return what was asked for; an answer that does not come is an error of Kafka like any other.

    A client without any broker never answers, whatever timeout its request has: wait longer than
    that, and not for ever.
    """
    try:
        return answer.result(seconds)
    except TimeoutError as failure:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from failure
