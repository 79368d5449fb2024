"""Which records reach the event router, and where it sends them."""

import re
from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.surroundings import java_match, split_names
from pipeline_check.rules.finding import Finding

OLD_TABLES = "table.whitelist"
BY_TOPIC = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"


def predicate(outbox: Outbox) -> Iterator[Finding]:
    """Check that a predicate lets the outbox's own topic through.

    With one that matches nothing the task still says that it is RUNNING.
    """
    name = outbox.router("predicate")
    if not name:
        return
    if name not in split_names(outbox.value("predicates")):
        key = f"{outbox.prefix}predicate"
        yield outbox.error(
            "predicate-unknown",
            key,
            f"{key}={name}, and predicates does not name it: Connect refuses the connector",
            f'"predicates": "{name}"',
        )
    key = f"predicates.{name}.pattern"
    pattern = outbox.value(key)
    is_by_topic = outbox.value(f"predicates.{name}.type") == BY_TOPIC
    if not is_by_topic or not pattern or not outbox.topics:
        return  # another predicate, or topics that cannot be known from here
    is_negated = outbox.router("negate", "false") == "true"
    reached = [topic for topic in outbox.topics if java_match(pattern, topic) != is_negated]
    if not reached:
        topic = outbox.topics[0]
        escaped = re.escape(topic).replace("\\", "\\\\")
        yield outbox.error(
            "predicate-matches-nothing",
            key,
            f"{key}={pattern}, which must match the whole topic, but the connector writes to "
            f"{topic}: the router never runs, the task stays RUNNING, and readers get raw change "
            "events",
            f'"{key}": "{escaped}"',
        )


def topic_prefix(outbox: Outbox) -> Iterator[Finding]:
    """Check that the connector has the name without which it does not start."""
    if "topic.prefix" in outbox.block.settings or outbox.block.opaque:
        return
    old = "database.server.name"
    name = outbox.value(old) or outbox.block.name or "orders"
    fix = f'"topic.prefix": "{name}"'
    if old in outbox.block.settings:
        message = (
            f"{old} is Debezium 1's: since 2.0 the connector does not start without topic.prefix"
        )
        yield outbox.warning("topic-prefix", old, message, fix)
    else:
        message = "topic.prefix is not set: the connector does not start"
        yield outbox.error("topic-prefix", "topic.prefix", message, fix)


def included(outbox: Outbox) -> Iterator[Finding]:
    """Check that the connector reads its outbox, and not every table that is published."""
    has_old_name = OLD_TABLES in outbox.block.settings
    if has_old_name and "table.include.list" not in outbox.block.settings:
        yield outbox.warning(
            "table-whitelist",
            OLD_TABLES,
            f"{OLD_TABLES} is unknown since Debezium 2.0, which then reads every published table",
            f'"table.include.list": "{outbox.value(OLD_TABLES) or "public.outbox"}"',
        )
    if outbox.value("table.include.list", "") == "" and not has_old_name:
        yield outbox.error(
            "table-include-list",
            "table.include.list",
            "table.include.list is not set: every published table goes through the event router",
            '"table.include.list": "public.outbox"',
        )


def published(outbox: Outbox) -> Iterator[Finding]:
    """Check that what is read is also published, and so are its inserts."""
    publication = outbox.publication
    name = outbox.publication_name
    if publication is None:
        return
    for table in outbox.included:
        if publication.tables is not None and table not in publication.tables:
            yield outbox.error(
                "outbox-not-published",
                "publication.name",
                f"{table} is not in publication {name}: none of its rows will ever be an event",
                f"alter publication {name} add table {table};",
            )
    if "insert" not in publication.operations:
        operations = ", ".join(sorted(publication.operations | {"insert"}))
        yield outbox.error(
            "insert-not-published",
            "publication.name",
            f"publication {name} publishes no inserts, of which an outbox is made",
            f"alter publication {name} set (publish = '{operations}');",
        )


def route(outbox: Outbox) -> Iterator[Finding]:
    """Check that the topic's name takes only groups of its pattern, and differs by aggregate."""
    key = f"{outbox.prefix}route.topic.replacement"
    replacement = outbox.router("route.topic.replacement", "outbox.event.${routedByValue}")
    pattern = outbox.router("route.topic.regex", "(?<routedByValue>.*)")
    if not replacement or not pattern:
        return
    fix = f'"{key}": "${{routedByValue}}.events"'
    groups = set(re.findall(r"\(\?<(\w+)>", pattern))
    wanted = set(re.findall(r"\$\{(\w+)\}", replacement))
    unknown = sorted(wanted - groups)
    if unknown:
        yield outbox.error(
            "route-group",
            key,
            f"{key}={replacement}, and {unknown[0]} is no group of {pattern}: the task fails at "
            "the first row",
            fix,
        )
    elif "$" not in replacement:
        message = f"{key}={replacement}: every aggregate goes to this one topic"
        yield outbox.note("route-constant", key, message, fix)
