"""Fixes to paste, in the spelling of the file that they go into."""

from collections.abc import Mapping
from difflib import get_close_matches

from pipeline_check.clients.table import keys
from pipeline_check.reading.block import Block
from pipeline_check.rules.edit import Edit, Fix
from pipeline_check.rules.source_fixes import source_fix
from pipeline_check.rules.spelling import SYNONYMS, synonyms

IDEMPOTENT = {"enable.idempotence": "true", "acks": "all"}
GOOD_VALUES = IDEMPOTENT | {
    "retries": "2147483647",
    "max.in.flight.requests.per.connection": "5",
    "delivery.timeout.ms": "120000",
}
PYTHON_WORDS = {"true": "True", "false": "False"}
NAMES = {  # how a client's setting is called where a framework makes the client
    "spring": "spring.kafka.{kind}.properties.{name}",
    "spring-cloud-stream": "spring.cloud.stream.kafka.binder.{kind}-properties.{name}",
    "smallrye": "mp.messaging.{direction}.{block}.{name}",
    "micronaut": "kafka.producers.{block}.{name}",
    "streams": "{block}producer.{name}",
    "spark": "kafka.{name}",
}
OF_BINDING = "spring.cloud.stream.kafka.bindings.{block}.{kind}.configuration.{name}"
OF_OLD_JAVA = {
    "acks": "request.required.acks",
    "all": "-1",
    "retries": "message.send.max.retries",
}
OF_MIRROR = "{block}.producer.{name}"
WITH_UNDERSCORES = {"kafka-python", "aiokafka"}
CONNECT_PREFIXES = {"worker": "producer.", "connector": "producer.override."}


def client_fix(block: Block, settings: Mapping[str, str]) -> Fix:
    """Write a client's settings as this block takes them: in Connect, in Spring, in Spark."""
    named = []
    for name, text in settings.items():
        own = written_name(block, name)
        value = OF_OLD_JAVA.get(text, text) if block.client == "old-java" else text
        named.append((setting_name(block, own), client_name(block, own), value))
    return make_fix(block, named)


def written_name(block: Block, name: str) -> str:
    """Return a setting under the name that the block has for it already: an alias stays one."""
    if block.client == "old-java":
        return OF_OLD_JAVA.get(name, name)
    aliases = [each for each in sorted(synonyms(name)) if each in block.settings]
    return aliases[0] if aliases and name not in block.settings else name


def setting_name(block: Block, name: str) -> str:
    """Return what the rules call a client's setting in this block."""
    if block.kind in CONNECT_PREFIXES:
        return CONNECT_PREFIXES[block.kind] + name
    if block.client == "connect":
        return f"worker:producer.{name}"
    if block.client in WITH_UNDERSCORES:
        return name.replace(".", "_")
    is_prefixed = block.client == "streams" and not name.startswith("processing.")
    return f"producer.{name}" if is_prefixed else name


def make_fix(block: Block, named: list[tuple[str, str, str]]) -> Fix:
    """Return the text and the edits for settings: what the rules, and what the file call each."""
    text = fix_text(block, {key: value for _, key, value in named})
    here = [each.line for each in block.settings.values()]
    last_line = max([block.line, *here])
    edits = []
    for setting, key, value in named:
        written = block.settings.get(setting)
        line = written.line if written else 0
        own_key = variable(block.prefix, key) if block.prefix else key
        edit = Edit(block.file, block.line, setting, own_key, value, line, last_line)
        edits.append(edit)
    return Fix(text, tuple(edits))


def block_fix(block: Block, settings: Mapping[str, str]) -> Fix:
    """Write settings under the block's own names, in the format of its file."""
    return make_fix(block, [(name, name, text) for name, text in settings.items()])


def client_name(block: Block, name: str) -> str:
    """Return the name that a client's setting has in this block."""
    if block.kind in CONNECT_PREFIXES:
        return CONNECT_PREFIXES[block.kind] + name
    form = NAMES.get(block.client, "{name}")
    if name.startswith("processing."):  # a setting of Streams itself
        form = "{block}{name}"
    if block.client == "spring-cloud-stream" and block.name:
        form = OF_BINDING
    if block.client == "connect":  # a producer of MirrorMaker 2
        form = OF_MIRROR
    direction = "outgoing" if block.kind == "producer" else "incoming"
    return form.format(name=name, kind=block.kind, block=block.name, direction=direction)


def fix_text(block: Block, settings: Mapping[str, str]) -> str:
    """Write settings in the format of the block's file."""
    if block.prefix:
        settings = {variable(block.prefix, name): text for name, text in settings.items()}
    if block.file.endswith(".py"):
        return python_fix(block, settings)
    as_source = source_fix(block.file, block.client, settings)
    if as_source:
        return as_source
    form = "{name}={text}"
    if block.file.endswith(".json"):
        form = '"{name}": "{text}",'
    elif block.file.endswith((".yml", ".yaml")):
        form = '{name}: "{text}"'
    return "\n".join(form.format(name=name, text=text) for name, text in settings.items())


def variable(prefix: str, name: str) -> str:
    """Return the environment variable that an image turns into a setting."""
    return prefix + name.upper().replace("_", "__").replace(".", "_")


def python_fix(block: Block, settings: Mapping[str, str]) -> str:
    """Write settings as members of a dictionary, as keywords, or as options of a chain."""
    if block.client == "spark":
        return "".join(f'.option("{name}", "{text}")' for name, text in settings.items())
    if block.kind == "topic":
        return python_topic_fix(settings)
    values = {name: python_value(text) for name, text in settings.items()}
    if block.client == "librdkafka":
        return ", ".join(f'"{name}": {value}' for name, value in values.items())
    return ", ".join(f"{name.replace('.', '_')}={value}" for name, value in values.items())


def python_topic_fix(settings: Mapping[str, str]) -> str:
    """Write a topic's settings as keywords of `NewTopic`."""
    config = dict(settings)
    copies = config.pop("replication.factor", "")
    keyword = f"replication_factor={python_value(copies)}, " if copies else ""
    return f"{keyword}config={config}"


def python_value(text: str) -> str:
    """Write a value as a Python literal."""
    if text in PYTHON_WORDS:
        return PYTHON_WORDS[text]
    return text if text.isdigit() else f'"{text}"'


def usual_name(name: str) -> str:
    """Return the first of the names that a setting has."""
    for group in SYNONYMS:
        if name in group:
            return group[0]
    return name


def remedy(block: Block, name: str) -> str:
    """Write what to say instead of a setting that was refused."""
    known = usual_name(name)
    if known in GOOD_VALUES:
        return client_fix(block, {known: GOOD_VALUES[known]})
    listed = keys("librdkafka" if block.client == "librdkafka" else "java")
    if known in listed and listed[known].default:
        return client_fix(block, {known: listed[known].default})
    close = get_close_matches(name, listed, 1)
    if close and close[0] not in block.settings:
        return f"remove {name}, or say {close[0]}"
    return f"remove {name}"
