"""Which version of Kafka is in an image: by the tags of Kafka, Confluent, Debezium and Strimzi."""

import re
from collections.abc import Mapping

from pipeline_check.reading.said import Version, parse

# The Kafka of each line of Debezium's images, from the line on that brought it.
OF_DEBEZIUM: Mapping[Version, Version] = {
    (0, 8): (1, 1),
    (0, 9): (2, 0),
    (0, 10): (2, 3),
    (1, 0): (2, 4),
    (1, 2): (2, 5),
    (1, 3): (2, 6),
    (1, 5): (2, 7),
    (1, 7): (2, 8),
    (1, 8): (3, 0),
    (1, 9): (3, 1),
    (2, 0): (3, 3),
    (2, 2): (3, 4),
    (2, 4): (3, 5),
    (2, 5): (3, 6),
    (2, 6): (3, 7),
    (3, 0): (3, 8),
    (3, 1): (3, 9),
    (3, 2): (4, 0),
    (3, 4): (4, 1),
}
# The Kafka that each line of Confluent's platform began with; its minor versions go along.
OF_PLATFORM: Mapping[int, Version] = {
    3: (0, 8),
    4: (1, 0),
    5: (2, 0),
    6: (2, 6),
    7: (3, 0),
    8: (4, 0),
}
IMAGE = re.compile(r"(?:.*/)?(?P<owner>[\w.-]+)/(?P<name>[\w.-]+):(?P<tag>[\w.-]+)")
NUMBER = re.compile(r"\d+(?:\.\d+)+")
OF_STRIMZI = re.compile(r"kafka-(\d+(?:\.\d+)+)")
FROM = re.compile(r"^\s*FROM\s+(?:--platform=\S+\s+)?(\S+)", re.MULTILINE | re.IGNORECASE)
ARGUMENT = re.compile(r"^\s*ARG\s+(\w+)=(\S+)", re.MULTILINE | re.IGNORECASE)
DEFAULT = re.compile(r"\$\{(\w+):?-([^}]*)\}")
USE = re.compile(r"\$\{?(\w+)\}?")


def kafka_of_platform(platform: Version) -> Version:
    """Return the Kafka in a version of Confluent's platform: 7.5 has 3.5, and 6.1 has 2.7.

    Its patches differ, and the first one of a line is the one with the bugs.
    """
    first = OF_PLATFORM.get(platform[0])
    if not first:
        return platform
    return (first[0], first[1] + platform[1], 0)


def kafka_in(image: str) -> Version | None:
    """Return the version of Kafka in an image; nothing where its name does not tell."""
    match = IMAGE.fullmatch(image)
    if not match:
        return None
    owner, name, tag = match["owner"], match["name"], match["tag"]
    of_strimzi = OF_STRIMZI.search(tag)
    if owner == "strimzi" and of_strimzi:
        return parse(of_strimzi[1])
    numbers = NUMBER.findall(tag)
    if not numbers:
        return None
    # Behind another number, of Scala or of a connector, comes the one that counts.
    version = parse(numbers[0] if owner in {"debezium", "apache"} else numbers[-1])
    if owner == "debezium":
        known = [line for line in OF_DEBEZIUM if line <= version[:2]]
        return OF_DEBEZIUM[max(known)] if known else None
    if owner == "confluentinc" and name.startswith(("cp-", "confluent-")):
        return kafka_of_platform(version[:2])
    is_kafka_itself = name == "kafka" and owner in {
        "apache",
        "bitnami",
        "bitnamilegacy",
        "wurstmeister",
    }
    return version if is_kafka_itself else None


def base_of(dockerfile: str, given: Mapping[str, str]) -> str:
    """Return the image that the last stage of a Dockerfile begins with, with these arguments."""
    arguments = {**dict(ARGUMENT.findall(dockerfile)), **given}
    bases = FROM.findall(dockerfile)
    return filled_in(bases[-1], arguments) if bases else ""


def filled_in(image: str, variables: Mapping[str, str]) -> str:
    """Return an image with the values of its variables, or with their defaults."""

    def or_default(match: re.Match[str]) -> str:
        name, default = match.groups()
        return variables.get(name) or default

    def as_it_is(match: re.Match[str]) -> str:
        return variables.get(match[1], match[0])

    with_values = DEFAULT.sub(or_default, image)
    return USE.sub(as_it_is, with_values)
