"""The fix to paste, in the spelling of the file that it goes into."""

from collections.abc import Mapping

from pipeline_check.reading.block import Block

WORDS = {"true": "True", "false": "False"}


def paste(block: Block, settings: Mapping[str, str]) -> str:
    """Settings of a client as they are written where it gets them: at Connect, in Spring, in Spark."""
    return written(block, {prefixed(block, name): text for name, text in settings.items()})


def written(block: Block, names: Mapping[str, str]) -> str:
    """Settings under their own names, in the format of the file."""
    if block.prefix:
        names = {
            block.prefix + name.upper().replace("_", "__").replace(".", "_"): text
            for name, text in names.items()
        }
    if block.file.endswith(".py"):
        return python(block, names)
    if block.file.endswith(".json"):
        return "\n".join(f'"{name}": "{text}",' for name, text in names.items())
    if block.file.endswith((".yml", ".yaml")):
        return "\n".join(f'{name}: "{text}"' for name, text in names.items())
    return "\n".join(f"{name}={text}" for name, text in names.items())


def prefixed(block: Block, name: str) -> str:
    """The name that a setting of a client has there."""
    if block.client == "spring":
        return f"spring.kafka.{block.kind}.properties.{name}"
    of_connect = {"worker": "producer.", "connector": "producer.override."}
    return of_connect.get(block.kind, "kafka." if block.client == "spark" else "") + name


def python(block: Block, names: Mapping[str, str]) -> str:
    """As members of a dictionary, as keywords, or as options of a chain."""
    if block.client == "spark":
        return "".join(f'.option("{name}", "{text}")' for name, text in names.items())
    values = {
        name: WORDS.get(text, text if text.isdigit() else f'"{text}"')
        for name, text in names.items()
    }
    if block.kind == "topic":
        config = {name: value for name, value in names.items() if name != "replication.factor"}
        copies = (
            f"replication_factor={values['replication.factor']}, "
            if len(config) < len(names)
            else ""
        )
        return f"{copies}config={config}"
    if block.client == "librdkafka":
        return ", ".join(f'"{name}": {value}' for name, value in values.items())
    return ", ".join(f"{name.replace('.', '_')}={value}" for name, value in values.items())
