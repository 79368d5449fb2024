"""Which records reach the event router, and where it sends them."""

import re
from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.patterns import matches, names
from pipeline_check.rules.finding import Finding, Severity

BY_TOPIC = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"


def predicate(outbox: Outbox) -> Iterator[Finding]:
    """A predicate lets the outbox's own topic through; one that matches nothing leaves the task RUNNING."""
    name = outbox.router("predicate")
    key = f"predicates.{name}.pattern"
    if not name:
        return
    if name not in names(outbox.value("predicates")):
        fix = f'"predicates": "{name}"'
        message = f"{outbox.prefix}predicate={name}, and predicates does not name it: Connect refuses the connector"
        yield outbox.finding(
            "predicate-unknown", Severity.ERROR, f"{outbox.prefix}predicate", message, fix
        )
    pattern = outbox.value(key)
    if outbox.value(f"predicates.{name}.type") != BY_TOPIC or not pattern or not outbox.topics:
        return  # another predicate, or topics that cannot be known from here
    negated = outbox.router("negate", "false") == "true"
    reached = [topic for topic in outbox.topics if matches(pattern, topic) != negated]
    if not reached:
        topic = outbox.topics[0]
        yield outbox.finding(
            "predicate-matches-nothing",
            Severity.ERROR,
            key,
            f"{key}={pattern}, which must match the whole topic, but the connector writes to {topic}: the router never "
            "runs, the task stays RUNNING, and readers get raw change events",
            f'"{key}": "{re.escape(topic).replace(chr(92), chr(92) * 2)}"',
        )


def included(outbox: Outbox) -> Iterator[Finding]:
    """The connector reads its outbox, and not every table that is published."""
    if (
        outbox.value("table.include.list", "") == ""
        and "table.whitelist" not in outbox.block.settings
    ):
        message = (
            "table.include.list is not set: every published table goes through the event router"
        )
        fix = '"table.include.list": "public.outbox"'
        yield outbox.finding(
            "table-include-list", Severity.ERROR, "table.include.list", message, fix
        )


def published(outbox: Outbox) -> Iterator[Finding]:
    """What is read is also published, and so are its inserts."""
    publication, name = outbox.publication, outbox.value("publication.name", "dbz_publication")
    if publication is None:
        return
    for table in outbox.included:
        if publication.tables is not None and table not in publication.tables:
            message = (
                f"{table} is not in publication {name}: none of its rows will ever be an event"
            )
            fix = f"alter publication {name} add table {table};"
            yield outbox.finding(
                "outbox-not-published", Severity.ERROR, "publication.name", message, fix
            )
    if "insert" not in publication.operations:
        message = f"publication {name} publishes no inserts, of which an outbox is made"
        fix = f"alter publication {name} set (publish = '{', '.join(sorted(publication.operations | {'insert'}))}');"
        yield outbox.finding(
            "insert-not-published", Severity.ERROR, "publication.name", message, fix
        )


def route(outbox: Outbox) -> Iterator[Finding]:
    """The topic's name takes only groups that its pattern has, and differs from aggregate to aggregate."""
    key = f"{outbox.prefix}route.topic.replacement"
    replacement = outbox.router("route.topic.replacement", "outbox.event.${routedByValue}")
    pattern = outbox.router("route.topic.regex", "(?<routedByValue>.*)")
    if not replacement or not pattern:
        return
    groups = set(re.findall(r"\(\?<(\w+)>", pattern))
    wanted = re.findall(r"\$\{(\w+)\}", replacement)
    fix = f'"{key}": "${{routedByValue}}.events"'
    if unknown := sorted(set(wanted) - groups):
        message = f"{key}={replacement}, and {unknown[0]} is no group of {pattern}: the task fails at the first row"
        yield outbox.finding("route-group", Severity.ERROR, key, message, fix)
    elif "$" not in replacement:
        message = f"{key}={replacement}: every aggregate goes to this one topic"
        yield outbox.finding("route-constant", Severity.NOTE, key, message, fix)
