"""The picture of the path on the report page: its boxes, and the hops that each line shows."""

from collections.abc import Sequence
from typing import NamedTuple

from contract.names import AUDIT_TOPIC
from spark import hops

BOX_HEIGHT = 48
TOPIC_DISTANCE = 70
MIDDLE = 184  # of the row from the ledger to the outbox
RIGHT_COLUMN = 1000


class Box(NamedTuple):
    """A thing that holds rows or records."""

    x: int
    y: int
    width: int
    title: str
    place: str


class Line(NamedTuple):
    """A line from box to box, with the outcome of its hops as its label."""

    hops: tuple[str, ...]
    path: str
    label_x: int
    label_y: int
    anchor: str = "middle"


class Picture(NamedTuple):
    """Boxes and lines, and how much room they take."""

    boxes: list[Box]
    lines: list[Line]
    height: int

    def hops(self) -> set[str]:
        """Return the hops that the picture shows."""
        return {hop for line in self.lines for hop in line.hops}


def draw(input_topic: str, outbox_topics: Sequence[str]) -> Picture:
    """Return the picture: the service's path above, that of the audit receiver below."""
    top = max(10, MIDDLE - BOX_HEIGHT // 2 - TOPIC_DISTANCE * (len(outbox_topics) - 1) // 2)
    audit_y = max(320, top + TOPIC_DISTANCE * len(outbox_topics) + 20)
    landed_y = audit_y + 94
    boxes = [
        Box(10, 160, 144, "ledger", "what was acknowledged"),
        Box(210, 160, 130, input_topic, "Kafka"),
        Box(422, 100, 128, "tracking", "Postgres"),
        Box(422, 220, 128, "dead letter", "Postgres"),
        Box(642, 10, 190, "fulfillment or rejection", "Postgres"),
        Box(650, 160, 120, "outbox", "Postgres"),
        Box(422, audit_y, 128, "audit entry", "audit receiver"),
        Box(650, audit_y, 120, "outbox", "audit receiver"),
        Box(RIGHT_COLUMN, audit_y, 160, AUDIT_TOPIC, "Kafka"),
        Box(210, landed_y, 950, "landed", "Delta: every offset of every topic, once"),
    ]
    lines = service_lines(input_topic) + audit_lines(audit_y, landed_y)
    for number, topic in enumerate(outbox_topics):
        y = top + TOPIC_DISTANCE * number
        boxes.append(Box(RIGHT_COLUMN, y, 160, topic, "Kafka"))
        lines.append(topic_line(topic, y + BOX_HEIGHT // 2))
    return Picture(boxes, lines, height=landed_y + BOX_HEIGHT + 8)


def service_lines(input_topic: str) -> list[Line]:
    """Return the lines from the ledger to the service's outbox."""
    from_ledger = (hops.ledger_to_input(input_topic), hops.LEDGER_TO_OUTCOME)
    to_tracking = "M340 184C380 184 380 124 420 124"
    to_dead_letter = "M340 184C380 184 380 244 420 244"
    return [
        Line(from_ledger, "M154 184H208", 181, 232),
        Line((hops.input_to_tracking(input_topic),), to_tracking + to_dead_letter, 352, 106),
        Line((hops.TRACKING_TO_DECISION,), "M485 100V58C485 40 500 34 518 34H640", 565, 24),
        Line((hops.TRACKING_TO_OUTBOX,), "M550 124C600 124 610 184 648 184", 612, 120, "start"),
        Line((hops.DEAD_LETTER_TO_OUTBOX,), "M550 244C600 244 610 196 648 196", 612, 260, "start"),
    ]


def audit_lines(audit_y: int, landed_y: int) -> list[Line]:
    """Return the lines of the audit receiver, and the one from the topics to the lake."""
    middle = audit_y + BOX_HEIGHT // 2
    from_tracking = (hops.TRACKING_TO_AUDIT_ENTRY, hops.TRACKING_TO_AUDIT_MARK)
    to_entry = f"M450 148C396 190 396 {audit_y - 50} 450 {audit_y - 2}"
    to_topic = f"{hops.OUTBOX_TO}{AUDIT_TOPIC}"
    below = audit_y + BOX_HEIGHT
    return [
        Line(from_tracking, to_entry, 404, audit_y - 12, "end"),
        Line((hops.AUDIT_ENTRY_TO_OUTBOX,), f"M550 {middle}H648", 600, middle - 10),
        Line((to_topic,), f"M770 {middle}H{RIGHT_COLUMN - 2}", 885, middle - 10),
        Line((hops.TOPICS_TO_LANDED,), f"M1080 {below}V{landed_y - 2}", 1094, below + 27, "start"),
    ]


def topic_line(topic: str, y: int) -> Line:
    """Return the line from the service's outbox to a topic."""
    start = MIDDLE + (y - MIDDLE) // 12
    curve = f"M770 {start}C840 {start} 890 {y} {RIGHT_COLUMN - 2} {y}"
    return Line((f"{hops.OUTBOX_TO}{topic}",), curve, 945, y - 8)
