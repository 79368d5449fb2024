"""Who owns a partition: the group knows, and each member's client id is its address."""

import struct

from confluent_kafka.admin import AdminClient

from access.kafka_admin import Admin

ANSWER_SECONDS = 5.0
VERSION = struct.Struct(">h")
LENGTH = struct.Struct(">h")
NUMBER = struct.Struct(">i")


def find_owner(admin: Admin, group: str, topic: str, partition: int) -> str | None:
    """Return the address of the instance that owns a partition, or None in a rebalance."""

    def ask(client: AdminClient) -> str | None:
        # The newer call ends the process if the broker goes away meanwhile.
        for found in client.list_groups(group, timeout=ANSWER_SECONDS):
            for member in found.members:
                if partition in read_assignment(member.assignment or b"").get(topic, ()):
                    return str(member.client_id)
        return None

    return admin.ask(ask)


def read_assignment(data: bytes) -> dict[str, tuple[int, ...]]:
    """Return the partitions of each topic, from how Kafka writes what a member was assigned."""
    if not data:
        return {}
    place = VERSION.size
    [topics] = NUMBER.unpack_from(data, place)
    place += NUMBER.size
    assigned = {}
    for _ in range(topics):
        [length] = LENGTH.unpack_from(data, place)
        place += LENGTH.size
        topic = data[place : place + length].decode()
        place += length
        [count] = NUMBER.unpack_from(data, place)
        place += NUMBER.size
        assigned[topic] = struct.unpack_from(f">{count}i", data, place)
        place += count * NUMBER.size
    return assigned
