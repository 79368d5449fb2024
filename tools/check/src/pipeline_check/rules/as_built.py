"""What a project's builds say of its blocks: whether Flink reads them, and how old Spring is."""

from dataclasses import replace

from pipeline_check.reading.block import Block
from pipeline_check.rules.judge import Lookup

FLINK = "what Flink's connector makes of these settings"


SPRING_COMMITS_SINCE = (2, 3)  # of kafka-clients, which came with Spring Kafka 2.3


def as_built(block: Block, lookup: Lookup) -> Block:
    """Return a block as the project that it is in makes it."""
    return of_old_spring(aside_for_flink(block, lookup), lookup)


def of_old_spring(block: Block, lookup: Lookup) -> Block:
    """Return a consumer with Kafka's own defaults where Spring did not change them yet."""
    if block.kind != "consumer" or block.client not in ("spring", "spring-container"):
        return block
    build = lookup(block.file, "java")
    is_old = build is not None and build.version < SPRING_COMMITS_SINCE
    return replace(block, client="java") if is_old else block


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
