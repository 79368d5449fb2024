"""Environment variables that images turn into settings: `KAFKA_*`, `CONNECT_*`, `SPRING_KAFKA_*`."""

from dataclasses import replace

from pipeline_check.reading.block import Block, Setting
from pipeline_check.reading.classify import ALONE, BROKER, WORKER
from pipeline_check.reading.placeholder import substituted
from pipeline_check.reading.spring import spring_blocks

Settings = dict[str, Setting]
WORKERS = WORKER | {"key.converter", "group.id", "rest.advertised.host.name"}
BROKERS = BROKER | {"listeners"}


def environment_blocks(file: str, variables: Settings, opaque: str = "") -> list[Block]:
    """A broker, a worker, Spring's clients, or what only its own code can read; `opaque` may bring more."""
    replaced = {
        name: substituted(each.text, each.line) if each.known else each
        for name, each in variables.items()
    }
    worker = stripped(replaced, "CONNECT_")
    broker = stripped(replaced, "KAFKA_CFG_") or stripped(replaced, "KAFKA_")
    found = []
    if worker.keys() & WORKERS or any(name.startswith("producer.") for name in worker):
        line = min(each.line for each in worker.values())
        found.append(Block(file, line, "worker", "connect", "", worker, prefix="CONNECT_"))
    if broker.keys() & BROKERS:
        line = min(each.line for each in broker.values())
        found.append(Block(file, line, "broker", "java", "", broker, prefix="KAFKA_"))
    elif own := [name for name in broker if name.removeprefix("producer.") in ALONE]:
        variable = f"KAFKA_{own[0].upper().replace('.', '_')}"
        found.append(Block(file, broker[own[0]].line, "unjudged", f"what reads {variable}"))
    spring = {name.lower().replace("_", "."): each for name, each in replaced.items()}
    return [replace(each, opaque=opaque) for each in found + spring_blocks(file, spring)]


def stripped(variables: Settings, prefix: str) -> Settings:
    """The settings that the images make of the variables: one underscore is a dot, two are one, three a hyphen."""
    return {
        name[len(prefix) :]
        .lower()
        .replace("___", "-")
        .replace("__", "\0")
        .replace("_", ".")
        .replace("\0", "_"): each
        for name, each in variables.items()
        if name.startswith(prefix)
    }


def read_env(file: str, text: str) -> list[Block]:
    """A .env file."""
    variables: Settings = {}
    for number, raw in enumerate(text.splitlines(), 1):
        name, equals, value = raw.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            bare = value.strip() if value.strip()[:1] in "'\"" else value.split(" #")[0].strip()
            variables[name.strip()] = Setting(bare.strip("'\""), number)
    return environment_blocks(file, variables)
