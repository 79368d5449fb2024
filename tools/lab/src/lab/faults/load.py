"""Orders that go on while something breaks, and the list of those that the broker acknowledged."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaError, Message, Producer

from contract.names import INPUT_TOPIC
from contract.samples import Sample
from lab.faults.facts import Place, Sent
from ops.produce import entry, try_to_send
from ops.stack.supervisor import StackError

PATIENCE_SECONDS = 240
SLOWER = 8  # times


class Load:
    """Sends samples one after the other, at a steady rate."""

    def __init__(self, bootstrap: str, samples: Sequence[Sample], rate: float) -> None:
        self.samples = samples
        self.rate = rate
        self.sent: list[Sent] = []
        self.failures: list[str] = []
        self.hurry = threading.Event()
        self.done = threading.Event()
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "linger.ms": 2,
                "message.timeout.ms": PATIENCE_SECONDS * 1000,
                "socket.timeout.ms": 3000,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )

    @property
    def waiting(self) -> int:
        """Return how many records are handed over and not acknowledged."""
        return len(self.producer)

    def send_all(self) -> None:
        """Send every sample, then wait until each is acknowledged."""
        try:
            for number, sample in enumerate(self.samples):
                self.send(sample)
                self.hurry.wait(self.pause_after(number))
            self.producer.flush(PATIENCE_SECONDS)
        finally:
            self.done.set()

    def send(self, sample: Sample) -> None:
        """Hand over a sample to the client."""
        try_to_send(self.producer, INPUT_TOPIC, sample, self.report(sample))
        self.producer.poll(0)

    def pause_after(self, number: int) -> float:
        """Return how long to wait then: the second half lasts as long as most strikes do."""
        is_first_half = number < len(self.samples) // 2
        return (1 if is_first_half else SLOWER) / self.rate

    def report(self, sample: Sample) -> Callable[[KafkaError | None, Message], None]:
        """Return what to do when the broker has answered for this record."""

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            if error:
                self.failures.append(f"{sample.message_id}: {error.str()}")
                return
            place = Place(INPUT_TOPIC, message.partition() or 0, message.offset() or 0)
            self.sent.append(Sent(place, sample))

        return on_delivery


@contextmanager
def load(bootstrap: str, samples: Sequence[Sample], rate: float) -> Iterator[Load]:
    """Send in another thread while the block runs; at its end send the rest at once."""
    sending = Load(bootstrap, samples, rate)
    thread = threading.Thread(target=sending.send_all)
    thread.start()
    try:
        wait_for_the_first(sending)
        yield sending
    finally:
        sending.hurry.set()
        thread.join()
    missing = len(samples) - len(sending.sent)
    if missing:
        raise StackError(f"{missing} records were not acknowledged: {sending.failures[:1]}")


def wait_for_the_first(sending: Load) -> None:
    """Wait until the load is under way."""
    deadline = time.monotonic() + 30
    while len(sending.sent) < 5:
        if time.monotonic() > deadline:
            raise StackError("no record was acknowledged within 30 s: see the log of kafka")
        time.sleep(0.02)


def write_ledger(sent: Sequence[Sent], file: Path) -> None:
    """Keep what was acknowledged as reconciliation reads it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(entry(sample, *place)) for place, sample in sent]
    file.write_text("\n".join(lines) + "\n")
