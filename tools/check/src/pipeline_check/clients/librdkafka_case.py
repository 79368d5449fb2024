"""One configuration of librdkafka on its way to be effective, and the names that its settings have."""

from dataclasses import dataclass

from pipeline_check.clients.librdkafka_values import told
from pipeline_check.clients.outcome import Outcome

ACKS, RETRIES, TIMEOUT = "request.required.acks", "message.send.max.retries", "message.timeout.ms"
LINGER, IN_FLIGHT = "queue.buffering.max.ms", "max.in.flight.requests.per.connection"
PRESSURE, TRANSACTION = "queue.buffering.backpressure.threshold", "transaction.timeout.ms"
# Settings of a topic: with one of them the library looks at all of them when it starts, else at the first message.
OF_TOPICS = {
    ACKS,
    TIMEOUT,
    "request.timeout.ms",
    "queuing.strategy",
    "produce.offset.report",
    "partitioner",
}
MOST = 5  # requests under way: what the broker remembers of each producer and partition
KNOWN_AS = {
    ACKS: "acks",
    RETRIES: "retries",
    TIMEOUT: "delivery.timeout.ms",
    LINGER: "linger.ms",
}  # as people say


@dataclass
class Case:
    """One configuration on its way to be effective."""

    outcome: Outcome
    values: dict[str, object]
    asked: set[str]
    first_timeout: float = 0  # of a message, before a transaction has changed it

    def number(self, name: str) -> float:
        """A value that the list says is a number."""
        value = self.values[name]
        assert isinstance(value, int | float)
        return value

    def on(self, name: str) -> bool:
        """Whether something is switched on, or given at all."""
        return bool(self.values[name])

    def adjust(self, name: str, value: float) -> None:
        """Change what nobody asked for, and note it."""
        if name not in self.asked and self.values[name] != value:
            known = KNOWN_AS.get(name, name)
            self.outcome.change(f"{known} {told(self.values[name])} becomes {told(value)}", known)
            self.values[name] = value
