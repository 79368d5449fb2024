"""Spring Boot: `spring.kafka.*` in every spelling that its relaxed binding takes."""

import re

from pipeline_check.reading.block import Block, Kind, Setting, Settings
from pipeline_check.reading.classify import PRODUCER
from pipeline_check.reading.placeholder import substituted_setting

RENAMED = {  # what Spring names otherwise; the rest differs in its separators only
    "transaction.id.prefix": "transactional.id",
    "max.poll.interval": "max.poll.interval.ms",
}
SIDES: tuple[Kind, Kind] = ("producer", "consumer")
NAME = re.compile(r"spring\.kafka\.(?:(producer|consumer)\.)?(.+)")
CAMEL_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
DURATION = re.compile(r"(\d+)(ms|s|m|h)")
MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


def spring_blocks(file: str, flat: Settings) -> list[Block]:
    """Return the producer and the consumer that Spring would make of flat settings."""
    by_side = split_sides(flat)
    shared = by_side[""]
    blocks: list[Block] = []
    for kind in SIDES:
        own = by_side[kind]
        is_shared_producer = kind == "producer" and bool(shared.keys() & PRODUCER)
        if own or is_shared_producer:
            line = min(each.line for each in (own or shared).values())
            blocks.append(Block(file, line, kind, "spring", settings=shared | own))
    return blocks


def split_sides(flat: Settings) -> dict[str, Settings]:
    """Return Spring's settings under Java's names: the producer's, the consumer's, and shared."""
    by_side: dict[str, Settings] = {"": {}, "producer": {}, "consumer": {}}
    for name, setting in flat.items():
        found = NAME.fullmatch(name)
        if not found:
            continue
        side = found[1] or ""
        java = java_name(side, found[2])
        if java:
            by_side[side][java] = java_setting(java, setting)
    return by_side


def java_name(side: str, name: str) -> str:
    """Return the client's setting for a name of Spring's; nothing if there is none."""
    head, properties, rest = name.partition("properties.")
    if properties and not head:
        return rest.strip("[]").replace("].[", ".")
    if not side:
        return ""
    words = CAMEL_HUMP.sub(".", name)
    dotted = re.sub(r"[-_]", ".", words).lower()
    return RENAMED.get(dotted, dotted)


def java_setting(name: str, setting: Setting) -> Setting:
    """Return a value as the client gets it: 5m in milliseconds, READ_COMMITTED in small letters."""
    if setting.known and not setting.source:
        setting = substituted_setting(setting.text, setting.line)
    text = setting.text
    duration = DURATION.fullmatch(text)
    if name == "isolation.level":
        text = text.lower()
    if duration and name.endswith(".ms"):
        amount, unit = duration.groups()
        text = str(int(amount) * MILLISECONDS[unit])
    return Setting(text, setting.line, setting.source, setting.known)
