"""What becomes effective of a consumer's settings, where something is set and where nothing is."""

from pipeline_check.reading.block import Block

# What becomes effective where nothing is set.
JAVA = {
    "enable.auto.commit": "true",
    "isolation.level": "read_uncommitted",
    "auto.offset.reset": "latest",
}
DEFAULTS = {
    "java": JAVA,
    "kafka-python": JAVA,
    "aiokafka": JAVA,
    "spring": JAVA | {"enable.auto.commit": "false"},  # its listeners commit themselves, since 2.3
    "spark": JAVA | {"enable.auto.commit": "false", "auto.offset.reset": "none"},  # it forces both
    "librdkafka": {
        "enable.auto.commit": "true",
        "isolation.level": "read_committed",
        "auto.offset.reset": "largest",
    },
}
SESSION = {
    "librdkafka": 45_000,
    "java": 45_000,
    "spring": 45_000,
    "kafka-python": 45_000,
    "aiokafka": 10_000,
}


def effective(block: Block, name: str) -> str:
    """What is set or the default; nothing where it comes from somewhere else."""
    spelt = name if name in block.settings else name.replace(".", "_")
    if spelt in block.settings:
        return (block.known(spelt) or "").lower()
    return "" if block.opaque else DEFAULTS[block.client].get(name, "")


def at(block: Block, name: str) -> int:
    """Where a setting stands, in either spelling."""
    return block.line_of(name if name in block.settings else name.replace(".", "_"))
