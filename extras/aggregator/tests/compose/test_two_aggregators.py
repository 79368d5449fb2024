"""Two aggregators on containers, one of which is killed."""

import json
import os
from typing import Any

from confluent_kafka.admin import AdminClient

from extras.aggregator.names import INPUT_TOPIC, TOTAL_TOPIC
from extras.aggregator.tests.batches import COMPLETE, item
from tests.client import Sent, fresh, send, until, until_handled, until_published
from tests.compose.project import Project, ask

GROUP = "aggregator"
KEYS = 30


def test_two_share_the_topic_and_one_dies(project: Project) -> None:
    """Killed with open groups in its memory: one right total each, and replays that say so."""
    project.good("up", "--wait", "--scale", "aggregator=2")
    until(members, lambda found: len(found) == 2, 60, "the two do not share the partitions")
    prefix = fresh("b")
    keys = [f"{prefix}-{n}" for n in range(KEYS)]
    send(
        [Sent(fresh("item"), key, item(n, "1.10")) for n in (1, 2, 4) for key in keys], INPUT_TOPIC
    )
    until_handled(group=GROUP, topic=INPUT_TOPIC)
    ask("docker", "kill", project.containers()["aggregator-2"]["Id"])
    until(members, lambda found: len(found) == 1, 60, "the killed one is still a member")
    rest = [Sent(fresh("item"), key, item(8, "1.10")) for key in keys]
    ends = [Sent(fresh("end"), key, COMPLETE) for key in keys]
    send([*rest, *ends], INPUT_TOPIC)
    events = until_published(TOTAL_TOPIC, lambda event: event.key in keys, KEYS, 90)
    assert sorted(event.key for event in events) == sorted(keys)
    totals = [json.loads(event.value) for event in events]
    found = {(total["items"], total["units"], total["amount"]) for total in totals}
    assert found == {(4, 15, "4.40")}
    # What the other one had summed by itself is no replay: the mark tells the two apart.
    assert {event.headers["replay"] for event in events} == {b"true", b"false"}


def members() -> list[str]:
    """Return the members of the group that have partitions."""
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})
    answers = admin.describe_consumer_groups([GROUP])
    group: Any = answers[GROUP].result(timeout=10)
    return [one.member_id for one in group.members if one.assignment.topic_partitions]
