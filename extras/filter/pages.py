"""/marks/{partition}, and /livez, /readyz and /metrics, on a port and in a thread of their own."""

import json
import re
import threading
import time
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from typing import NamedTuple

from confluent_kafka import KafkaException
from prometheus_client import MetricsHandler

from extras.filter.crossing import Crossing
from extras.filter.settings import Settings

MARK = re.compile("/marks/([0-9]{1,9})")
SILENT_SECONDS = 30.0  # taking over a partition may wait for somebody's open transaction
ABOUT = "only /marks/{partition}, /livez, /readyz and /metrics are here\n"


class Answer(NamedTuple):
    """Status, text, and where to ask instead."""

    status: int
    text: str
    location: str = ""


class Pages:
    """What the answers depend on."""

    def __init__(
        self, settings: Settings, crossing: Crossing, find_owner: Callable[[int], str | None]
    ) -> None:
        self.settings = settings
        self.crossing = crossing
        self.find_owner = find_owner
        self.last_poll = time.monotonic()

    def answer(self, path: str) -> Answer:
        """Return the answer for a path."""
        if path in {"/livez", "/readyz"}:
            return self.answer_health(path)
        asked = MARK.fullmatch(path)
        return self.answer_mark(int(asked[1])) if asked else Answer(404, ABOUT)

    def answer_health(self, path: str) -> Answer:
        """Return whether the process works, and for /readyz whether the group counts on it."""
        silence = time.monotonic() - self.last_poll
        if silence > SILENT_SECONDS:
            return Answer(503, f"the last poll was {silence:.0f} seconds ago\n")
        if path == "/readyz" and not self.crossing.has_joined:
            return Answer(503, "the group has not settled yet\n")
        return Answer(200, "ok\n")

    def answer_mark(self, partition: int) -> Answer:
        """Return the mark of a partition, or where it can be asked for."""
        topic = self.settings.filter_input_topic
        if partition in self.crossing.owned:
            mark = self.crossing.marks.get(partition)
            if mark is None:
                return Answer(404, f"{topic}/{partition}: nothing has passed yet\n")
            document = {"topic": topic, "partition": partition, "number": mark}
            return Answer(200, json.dumps(document) + "\n")
        try:
            owner = self.find_owner(partition)
        except KafkaException as failure:
            return Answer(503, f"the broker does not answer: {failure.args[0].str()}\n")
        if owner in {None, self.settings.url}:
            return Answer(404, f"{topic}/{partition}: nobody has it, or not at the moment\n")
        return Answer(307, f"ask {owner}\n", f"{owner}/marks/{partition}")


def serve(settings: Settings, pages: Pages) -> None:
    """Answer until the process ends; a port that is taken raises here and now."""

    class Handler(MetricsHandler):
        def do_GET(self) -> None:  # noqa: N802 - http.server's name
            if self.path == "/metrics":
                super().do_GET()
                return
            status, text, location = pages.answer(self.path)
            content_type = "application/json" if text.startswith("{") else "text/plain"
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer((settings.filter_host, settings.filter_port), Handler)
    threading.Thread(target=server.serve_forever, name="pages", daemon=True).start()
