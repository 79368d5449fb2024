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
        drawn: set[str] = set()
        for line in self.lines:
            drawn.update(line.hops)
        return drawn


def draw(input_topic: str, outbox_topics: Sequence[str]) -> Picture:
    """Return the picture: the service's path above, that of the audit receiver below."""
    topics_height = TOPIC_DISTANCE * len(outbox_topics)
    gap = TOPIC_DISTANCE - BOX_HEIGHT
    centered_top = MIDDLE + (gap - topics_height) // 2
    top = max(10, centered_top)
    audit_y = max(320, top + topics_height + 20)
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
        middle = y + BOX_HEIGHT // 2
        box = Box(RIGHT_COLUMN, y, 160, topic, "Kafka")
        boxes.append(box)
        line = topic_line(topic, middle)
        lines.append(line)
    height = landed_y + BOX_HEIGHT + 8
    return Picture(boxes, lines, height)


def service_lines(input_topic: str) -> list[Line]:
    """Return the lines from the ledger to the service's outbox."""
    to_tracking = "M340 184C380 184 380 124 420 124"
    to_dead_letter = "M340 184C380 184 380 244 420 244"
    return [
        Line(
            hops=(hops.ledger_to_input(input_topic), hops.LEDGER_TO_OUTCOME),
            path="M154 184H208",
            label_x=181,
            label_y=232,
        ),
        Line(
            hops=(hops.input_to_tracking(input_topic), hops.FORGOTTEN_TO_LANDED),
            path=to_tracking + to_dead_letter,
            label_x=352,
            label_y=106,
        ),
        Line(
            hops=(hops.TRACKING_TO_DECISION, hops.RETIRED_TO_DECISION),
            path="M485 100V58C485 40 500 34 518 34H640",
            label_x=565,
            label_y=24,
        ),
        Line(
            hops=(hops.TRACKING_TO_OUTBOX, hops.RETIRED_TO_LANDED),
            path="M550 124C600 124 610 184 648 184",
            label_x=612,
            label_y=120,
            anchor="start",
        ),
        Line(
            hops=(hops.DEAD_LETTER_TO_OUTBOX, hops.RETIRED_LETTER_TO_LANDED),
            path="M550 244C600 244 610 196 648 196",
            label_x=612,
            label_y=260,
            anchor="start",
        ),
    ]


def audit_lines(audit_y: int, landed_y: int) -> list[Line]:
    """Return the lines of the audit receiver, and the one from the topics to the lake."""
    middle = audit_y + BOX_HEIGHT // 2
    bottom = audit_y + BOX_HEIGHT
    end_x = RIGHT_COLUMN - 2
    return [
        Line(
            hops=(hops.TRACKING_TO_AUDIT_ENTRY, hops.TRACKING_TO_AUDIT_MARK),
            path=f"M450 148C396 190 396 {audit_y - 50} 450 {audit_y - 2}",
            label_x=404,
            label_y=audit_y - 12,
            anchor="end",
        ),
        Line(
            hops=(hops.AUDIT_ENTRY_TO_OUTBOX, hops.RETIRED_ENTRY_TO_LANDED),
            path=f"M550 {middle}H648",
            label_x=600,
            label_y=middle - 10,
        ),
        Line(
            hops=(f"{hops.OUTBOX_TO}{AUDIT_TOPIC}",),
            path=f"M770 {middle}H{end_x}",
            label_x=885,
            label_y=middle - 10,
        ),
        Line(
            hops=(hops.TOPICS_TO_LANDED,),
            path=f"M1080 {bottom}V{landed_y - 2}",
            label_x=1066,
            label_y=bottom + 27,
            anchor="end",
        ),
    ]


def topic_line(topic: str, y: int) -> Line:
    """Return the line from the service's outbox to a topic whose box has its middle at y."""
    start_y = MIDDLE + (y - MIDDLE) // 12  # the lines of all topics start beside each other
    end_x = RIGHT_COLUMN - 2
    label_y = y - 8 if y <= MIDDLE else y + 18
    return Line(
        hops=(f"{hops.OUTBOX_TO}{topic}",),
        path=f"M770 {start_y}C840 {start_y} 890 {y} {end_x} {y}",
        label_x=945,
        label_y=label_y,
    )
