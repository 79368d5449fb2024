"""YAML to nodes, from the parser's events: never deeper than a limit, and an alias is read once."""

from collections.abc import Iterator

import yaml

from pipeline_check.reading.node import DEPTH, Node
from pipeline_check.reading.unreadable import UnreadableError

LOADER = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)  # libyaml where there is one: twenty times as fast
TRUE, FALSE = {"true", "yes", "on"}, {"false", "no", "off"}


def parse_yaml(file: str, text: str) -> list[Node]:
    """Every document of the file, or at which line it is no YAML."""
    try:
        return [
            document
            for document in Builder(file, yaml.parse(text, Loader=LOADER)).documents()
            if document
        ]
    except yaml.MarkedYAMLError as broken:
        mark = broken.problem_mark or broken.context_mark
        why = (
            "a template, whose result nobody knows here"
            if "{{" in text
            else f"not YAML: {broken.problem}"
        )
        raise UnreadableError(file, mark.line + 1 if mark else 1, why) from None
    except (
        yaml.YAMLError,
        ValueError,
    ) as broken:  # a character that may not stand there, an impossible escape
        at = getattr(broken, "position", 0) or 0
        raise UnreadableError(
            file, text.count("\n", 0, at) + 1, f"not YAML: {str(broken).splitlines()[0]}"
        ) from None


class Builder:
    """Nodes out of a stream of events."""

    def __init__(self, file: str, events: Iterator[yaml.Event]) -> None:
        self.file, self.events = file, events
        self.anchors: dict[str, Node] = {}

    def documents(self) -> Iterator[Node | None]:
        """One node for each document."""
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors = {}
                yield self.node(next(self.events), 0)

    def node(self, event: yaml.Event, depth: int) -> Node | None:
        """The node that begins with this event; none for the end of a collection."""
        line = event.start_mark.line + 1 if event.start_mark else 1
        if depth > DEPTH:
            raise UnreadableError(self.file, line, f"nested deeper than {DEPTH}")
        if isinstance(event, yaml.AliasEvent):
            return self.anchors.get(str(event.anchor), Node("", line))
        if isinstance(event, yaml.ScalarEvent):
            return self.kept(event, Node(scalar(event), line, plain=event.implicit[0]))
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Node] = []
            while item := self.node(next(self.events), depth + 1):
                items.append(item)
            return self.kept(event, Node(items, line))
        if isinstance(event, yaml.MappingStartEvent):
            return self.kept(event, Node(self.fields(depth), line))
        return None

    def fields(self, depth: int) -> dict[str, Node]:
        """Names and values; `<<` brings in what is not said here."""
        own: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        while key := self.node(next(self.events), depth + 1):
            value = self.node(next(self.events), depth + 1)
            if not value:
                break
            if key.value == "<<":
                for source in [*reversed(value.elements()), value]:
                    merged.update(source.items())
            elif isinstance(key.value, str):
                own[key.value] = value
        return merged | own

    def kept(self, event: yaml.NodeEvent, node: Node) -> Node:
        """The node, found again under its anchor."""
        if event.anchor:
            self.anchors[event.anchor] = node
        return node


def scalar(event: yaml.ScalarEvent) -> str:
    """The text; unquoted, true and false have several spellings, and null is nothing."""
    text = str(event.value)
    if not event.implicit[0]:
        return text
    word = text.lower()
    return (
        "true"
        if word in TRUE
        else "false"
        if word in FALSE
        else ""
        if word in ("null", "~")
        else text
    )
