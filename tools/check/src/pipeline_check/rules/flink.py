"""Settings that Flink's connector may read: it adds its own, so nobody judges them here."""

from dataclasses import replace

from pipeline_check.reading.block import Block
from pipeline_check.rules.judge import Lookup

FLINK = "what Flink's connector makes of these settings"


def aside_for_flink(block: Block, lookup: Lookup) -> Block:
    """Return a properties file's client as unjudged in a project that Flink's connector is in.

    Its sink writes again after a restart, whatever the producer inside is; its source commits
    offsets with its checkpoints.
    """
    is_client = block.kind in ("producer", "consumer") and block.client == "java"
    is_file = block.file.endswith(".properties")
    if is_client and is_file and lookup(block.file, "flink"):
        return replace(block, kind="unjudged", client=FLINK)
    return block
