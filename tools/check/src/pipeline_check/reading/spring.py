"""Spring Boot: `spring.kafka.*`, in whatever spelling its relaxed binding takes, as the Java settings that it makes."""

import re

from pipeline_check.reading.block import Block, Kind, Setting
from pipeline_check.reading.classify import PRODUCER
from pipeline_check.reading.placeholder import substituted

Settings = dict[str, Setting]
RENAMED = {  # what Spring calls otherwise; the rest differs in its separators only
    "transaction.id.prefix": "transactional.id",
    "max.poll.interval": "max.poll.interval.ms",
}
SIDES: tuple[Kind, Kind] = ("producer", "consumer")
NAME = re.compile(r"spring\.kafka\.(?:(producer|consumer)\.)?(.+)")
DURATION = re.compile(r"(\d+)(ms|s|m|h)")
MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


def spring_blocks(file: str, flat: Settings) -> list[Block]:
    """The producer and the consumer that Spring would make."""
    sides: dict[str, Settings] = {"": {}, "producer": {}, "consumer": {}}
    for name, setting in flat.items():
        found = NAME.fullmatch(name)
        if found and (own := java_name(found[1] or "", found[2])):
            sides[found[1] or ""][own] = in_milliseconds(own, setting)
    blocks: list[Block] = []
    for kind in SIDES:
        settings = sides[kind]
        if settings or (kind == "producer" and sides[""].keys() & PRODUCER):
            line = min(each.line for each in (settings or sides[""]).values())
            blocks.append(Block(file, line, kind, "spring", "", sides[""] | settings))
    return blocks


def java_name(side: str, name: str) -> str:
    """The setting of the client that a name of Spring's stands for."""
    head, properties, rest = name.partition("properties.")
    if properties and not head:
        return rest.strip("[]").replace("].[", ".")
    dotted = re.sub(r"[-_]", ".", re.sub(r"(?<=[a-z])(?=[A-Z])", ".", name)).lower()
    return RENAMED.get(dotted, dotted) if side else ""


def in_milliseconds(name: str, setting: Setting) -> Setting:
    """Durations such as 5m as the number that the client gets; levels such as READ_COMMITTED in its spelling."""
    setting = (
        substituted(setting.text, setting.line) if setting.known and not setting.source else setting
    )
    duration = DURATION.fullmatch(setting.text)
    text = setting.text.lower() if name == "isolation.level" else setting.text
    if duration and name.endswith(".ms"):
        text = str(int(duration[1]) * MILLISECONDS[duration[2]])
    return Setting(text, setting.line, setting.source, setting.known)
