"""Environment variables that images turn into settings: `KAFKA_*`, `CONNECT_*`, `SPRING_*`."""

from dataclasses import replace

from pipeline_check.reading.block import Block, Setting, Settings
from pipeline_check.reading.classify import BROKER, SURE_ALONE, WORKER
from pipeline_check.reading.placeholder import substitute
from pipeline_check.reading.spring import spring_blocks

DEBEZIUM = (
    "BOOTSTRAP_SERVERS",
    "GROUP_ID",
    "CONFIG_STORAGE_TOPIC",
    "OFFSET_STORAGE_TOPIC",
    "STATUS_STORAGE_TOPIC",
    "KEY_CONVERTER",
    "VALUE_CONVERTER",
    "OFFSET_FLUSH_INTERVAL_MS",
    "OFFSET_FLUSH_TIMEOUT_MS",
)
# What people write beside them, and the image does not read.
NOT_DEBEZIUM = tuple(
    f"{each}_STORAGE_REPLICATION_FACTOR" for each in ("CONFIG", "OFFSET", "STATUS")
)
WORKER_NAMES = WORKER | {"key.converter", "group.id", "rest.advertised.host.name"}
BROKER_NAMES = BROKER | {"listeners"}


def environment_blocks(file: str, variables: Settings, opaque: str = "") -> list[Block]:
    """Return a broker, a worker, Spring's clients, or what only the program's code can read.

    `opaque` names a place that may bring more variables.
    """
    replaced = substitute(variables)
    found = worker_blocks(file, replaced)
    found += broker_blocks(file, replaced)
    spring = {name.lower().replace("_", "."): each for name, each in replaced.items()}
    found += spring_blocks(file, spring)
    return [replace(each, opaque=opaque) for each in found]


def worker_blocks(file: str, variables: Settings) -> list[Block]:
    """Return the Connect worker that these variables configure, if they do."""
    settings = debezium_settings(variables) | image_settings(variables, "CONNECT_")
    has_producer = any(name.startswith("producer.") for name in settings)
    if not has_producer and not settings.keys() & WORKER_NAMES:
        return []
    line = min(each.line for each in settings.values())
    return [Block(file, line, "worker", "connect", settings=settings, prefix="CONNECT_")]


def debezium_settings(variables: Settings) -> Settings:
    """Return what Debezium's image takes under names without a prefix."""
    if not variables.keys() & {f"{each}_STORAGE_TOPIC" for each in ("CONFIG", "OFFSET", "STATUS")}:
        return {}
    taken = {setting_name(name): variables[name] for name in DEBEZIUM if name in variables}
    ignored = {name: variables[name] for name in NOT_DEBEZIUM if name in variables}
    return taken | ignored


def broker_blocks(file: str, variables: Settings) -> list[Block]:
    """Return the broker that these variables configure, or a program that has variables like it."""
    of_bitnami = image_settings(variables, "KAFKA_CFG_")
    prefix = "KAFKA_CFG_" if of_bitnami.keys() & BROKER_NAMES else "KAFKA_"
    settings = image_settings(variables, prefix)
    if settings.keys() & BROKER_NAMES:
        line = min(each.line for each in settings.values())
        return [Block(file, line, "broker", "java", settings=settings, prefix=prefix)]
    for name, setting in settings.items():
        if name.removeprefix("producer.") in SURE_ALONE:
            variable = f"KAFKA_{name.upper().replace('.', '_')}"
            return [Block(file, setting.line, "unjudged", f"what reads {variable}")]
    return []


def image_settings(variables: Settings, prefix: str) -> Settings:
    """Return the settings that images make of the variables with a prefix."""
    return {
        setting_name(name.removeprefix(prefix)): each
        for name, each in variables.items()
        if name.startswith(prefix)
    }


def setting_name(variable: str) -> str:
    """Return a setting's name: one underscore is a dot, two are an underscore, three a hyphen."""
    hyphens = variable.lower().replace("___", "-")
    return hyphens.replace("__", "\0").replace("_", ".").replace("\0", "_")


def read_env(file: str, text: str) -> list[Block]:
    """Read a .env file."""
    variables: Settings = {}
    for number, raw in enumerate(text.splitlines(), 1):
        name, equals, value = raw.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            variables[name.strip()] = Setting(unquoted(value), number)
    return environment_blocks(file, variables)


def unquoted(value: str) -> str:
    """Return a value without its quotes, or without the comment behind it."""
    text = value.strip()
    if text[:1] not in "'\"":
        text = value.partition(" #")[0].strip()
    return text.strip("'\"")
