"""Questions to the broker, for a process that lives long."""

import threading
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
        if self.client is None:  # not `or`: an idle client has the length 0, so it is false
            self.client = self.make_client(self.bootstrap_servers)
        try:
            return question(self.client)
        except KafkaException as error:
            failure = KafkaException(*error.args)  # a new one: this one's traceback has the client
        self.close()
        raise failure

    def close(self) -> None:
        """Let the client go in a thread: closing it may take for ever.

        It waits for threads of its own. These may wait until a time of the wall clock, and somebody
        may have set that back by hours.
        """
        closing = [self.client]
        self.client = None
        threading.Thread(target=closing.clear, name="close", daemon=True).start()


def wait_for(answer: Future[Answer], seconds: float) -> Answer:
    """Return what was asked for; an answer that does not come is an error of Kafka like any other.

    A client without any broker never answers, whatever timeout its request has: wait longer than
    that, and not for ever.
    """
    try:
        return answer.result(seconds)
    except TimeoutError as failure:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from failure
