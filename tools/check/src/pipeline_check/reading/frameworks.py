"""Frameworks that make producers out of settings under names of their own.

SmallRye (Quarkus), Spring Cloud Stream's Kafka binder, Micronaut, Kafka Streams, MirrorMaker 2.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from pipeline_check.reading.block import Block, Kind, Setting, Settings
from pipeline_check.reading.placeholder import substitute
from pipeline_check.reading.spring import java_name

PROFILE = re.compile(r"%([\w,-]+)\.")
CHANNEL = re.compile(r"mp\.messaging\.(incoming|outgoing)\.([^.]+|\"[^\"]+\")\.(.+)")
SMALLRYE = "smallrye-kafka"
OF_CONNECTOR = f"mp.messaging.connector.{SMALLRYE}."
SIDES: dict[str, Kind] = {"incoming": "consumer", "outgoing": "producer"}

STREAM = "spring.cloud.stream."
BINDER = f"{STREAM}kafka.binder."
STREAM_BINDING = re.compile(r"spring\.cloud\.stream\.(?:kafka\.)?bindings\.([^.]+)\.(.+)")
OWN_OF_BINDING = re.compile(
    r"spring\.cloud\.stream\.kafka\.bindings\.([^.]+)\.producer\.configuration\.(.+)"
)
NAMED_BINDER = re.compile(r"spring\.cloud\.stream\.binders\.[^.]+\.environment\.(.+)")
OUTPUT = re.compile(r"(^|[-_])(out|output)([-_]|$)|Output$|Producer$|Source$", re.IGNORECASE)

MICRONAUT = re.compile(r"kafka\.producers\.([^.]+)\.(.+)")
STREAMS = {  # where an application has settings of Streams, and where more of them go
    "spring.kafka.streams.": "spring.kafka.streams.properties.",
    "spring.cloud.stream.kafka.streams.binder.configuration.": "",
    "kafka-streams.": "",
    "quarkus.kafka-streams.": "kafka-streams.",
}
COPIES = (".topic.replication.factor", ".storage.replication.factor")
REPLICATION = re.compile(r"(\S+)->(\S+)\.enabled")


def framework_blocks(file: str, flat: Settings) -> list[Block]:
    """Return every producer and consumer that a framework would make of flat settings."""
    settings = substitute(flat)
    return [
        *smallrye_blocks(file, in_production(settings)),
        *spring_cloud_blocks(file, of_named_binders(settings)),
        *micronaut_blocks(file, settings),
        *mirror_blocks(file, settings),
        *streams_blocks(file, in_production(settings)),
    ]


def in_production(settings: Settings) -> Settings:
    """Return Quarkus' settings as production has them: other profiles do not count."""
    found = {name: each for name, each in settings.items() if not name.startswith("%")}
    for name, each in settings.items():
        profile = PROFILE.match(name)
        if profile and "prod" in profile[1].split(","):
            found[name[profile.end() :]] = each
    return found


# SmallRye


def smallrye_blocks(file: str, settings: Settings) -> Iterator[Block]:
    """Yield a producer or consumer for each channel that SmallRye's Kafka connector serves."""
    channels: dict[tuple[str, str], Settings] = defaultdict(dict)
    for name, each in settings.items():
        match = CHANNEL.fullmatch(name)
        if match:
            channels[match[1], match[2]][match[3]] = each
    shared = {
        name.removeprefix(OF_CONNECTOR): each
        for name, each in settings.items()
        if name.startswith(OF_CONNECTOR)
    }
    shared |= {
        name.removeprefix("kafka."): each
        for name, each in settings.items()
        if name.startswith("kafka.") and not MICRONAUT.fullmatch(name)
    }
    is_kafka = bool(shared) or any(serves(each, otherwise="") for each in channels.values())
    for (direction, channel), own in channels.items():
        if is_kafka and serves(own, otherwise=SMALLRYE):
            line = min(each.line for each in own.values())
            kind = SIDES[direction]
            yield Block(file, line, kind, "smallrye", channel, settings=shared | own)


def serves(channel: Settings, *, otherwise: str) -> bool:
    """Return whether Kafka's connector serves a channel; one that names none has the only one."""
    connector = channel.get("connector")
    return (connector.text if connector else otherwise) == SMALLRYE


# Spring Cloud Stream


def of_named_binders(settings: Settings) -> Settings:
    """Return settings with those of a named binder at the place that the only one would have."""
    found = dict(settings)
    for name, each in settings.items():
        inner = NAMED_BINDER.fullmatch(name)
        if inner:
            found.setdefault(inner[1], each)
    return found


def spring_cloud_blocks(file: str, settings: Settings) -> Iterator[Block]:
    """Yield the producer of the Kafka binder, and one for each binding with settings of its own."""
    of_stream = {name: each for name, each in settings.items() if name.startswith(STREAM)}
    if not any(name.startswith(f"{STREAM}kafka.b") for name in of_stream):
        return
    shared = binder_settings(settings)
    own = defaultdict[str, Settings](dict)
    for name, each in of_stream.items():
        binding = OWN_OF_BINDING.fullmatch(name)
        if binding:
            own[binding[1]][binding[2].strip("[]")] = each
    for binding_name, of_binding in own.items():
        line = min(each.line for each in of_binding.values())
        yield stream_producer(file, line, binding_name, shared | of_binding)
    writers = [each.line for name, each in output_bindings(of_stream) if name not in own]
    of_producers = [each.line for name, each in of_stream.items() if is_about_producers(name)]
    if writers or (of_producers and not own):
        yield stream_producer(file, min(writers or of_producers), "", shared)


def is_about_producers(name: str) -> bool:
    """Return whether the binder is told something about every producer."""
    setting = plain(name.removeprefix(BINDER))
    return name.startswith(BINDER) and setting.startswith(("requiredacks", "producerproperties"))


def stream_producer(file: str, line: int, name: str, settings: Settings) -> Block:
    """Return a producer of the binder."""
    return Block(file, line, "producer", "spring-cloud-stream", name, settings=settings)


def binder_settings(settings: Settings) -> Settings:
    """Return what every producer of the binder gets, the most particular last."""
    found: Settings = {}
    for name, each in settings.items():
        rest = name.removeprefix("spring.kafka.producer.")
        if rest != name and java_name("producer", rest):
            found[java_name("producer", rest)] = each
    for part in ("requiredacks", "configuration", "producerproperties"):
        for name, each in settings.items():
            head, _, rest = name.removeprefix(BINDER).partition(".")
            if not name.startswith(BINDER) or plain(head) != part:
                continue
            found[rest.strip("[]") or "acks"] = each
    return found


def output_bindings(of_stream: Settings) -> Iterator[tuple[str, Setting]]:
    """Yield the name of each binding that writes, with the first thing that is said of it."""
    seen = set()
    for name, each in of_stream.items():
        binding = STREAM_BINDING.fullmatch(name)
        if not binding or binding[1] in seen:
            continue
        if OUTPUT.search(binding[1]) or binding[2].startswith("producer."):
            seen.add(binding[1])
            yield binding[1], each


def plain(name: str) -> str:
    """Return a name without what Spring's relaxed binding does not look at."""
    return name.replace("-", "").replace("_", "").lower()


# Micronaut


def micronaut_blocks(file: str, settings: Settings) -> Iterator[Block]:
    """Yield the producers of Micronaut, each with what the default one has.

    Its consumers take their settings from annotations, too.
    """
    producers: dict[str, Settings] = defaultdict(dict)
    for name, each in settings.items():
        producer = MICRONAUT.fullmatch(name)
        if producer:
            producers[producer[1]][producer[2]] = each
    default = producers.get("default", {})
    for name, own in producers.items():
        line = min(each.line for each in own.values())
        yield Block(file, line, "producer", "micronaut", name, settings=default | own)


# MirrorMaker 2


def mirror_blocks(file: str, settings: Settings) -> Iterator[Block]:
    """Yield the producer that writes to each target of MirrorMaker 2: Connect's own."""
    if "clusters" not in settings:
        return
    targets: dict[str, Setting] = {}
    for name, each in settings.items():
        flow = REPLICATION.fullmatch(name)
        if flow and each.text.strip().lower() != "false":
            targets.setdefault(flow[2], each)
    for target, switch in targets.items():
        own = {
            f"worker:{name.removeprefix(target + '.')}": each
            for name, each in settings.items()
            if name.startswith(f"{target}.")
        }
        own |= {name: each for name, each in settings.items() if name.endswith(COPIES)}
        yield Block(file, switch.line, "producer", "connect", target, settings=own)
    copies = settings.get("replication.factor")
    if targets and copies:
        mirrored: Settings = {"replication.factor": copies}
        rest = "the topics that it mirrors"
        yield Block(file, copies.line, "topic", "java", settings=mirrored, opaque=rest)


# Kafka Streams


def streams_blocks(file: str, settings: Settings) -> Iterator[Block]:
    """Yield the producers of a Kafka Streams application, which all have the same settings."""
    own: Settings = {}
    where = ""
    for name, each in settings.items():
        for start, place in STREAMS.items():
            if name.startswith(start):
                where = place or start
                rest = name.removeprefix(start)
                own[rest.removeprefix("properties.").strip("[]")] = each
    if not own and {"application.id", "bootstrap.servers"} <= settings.keys():
        own = settings
    if own:
        line = min(each.line for each in own.values())
        yield Block(file, line, "producer", "streams", where, settings=own)
