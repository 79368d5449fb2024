"""YAML: compose, Kubernetes and Strimzi, or Spring Boot; each document for itself.

Nodes are built from the parser's events: never deeper than a limit, and an alias is read once.
"""

import re
from collections.abc import Iterator

import yaml

from pipeline_check.reading.block import Block, Setting, Settings
from pipeline_check.reading.classify import classify
from pipeline_check.reading.compose import compose_blocks, is_compose, run_by
from pipeline_check.reading.environment import environment_blocks
from pipeline_check.reading.kubernetes import kubernetes_blocks
from pipeline_check.reading.node import DEPTH, Node, flatten
from pipeline_check.reading.placeholder import FILLED_IN
from pipeline_check.reading.properties_file import flat_blocks
from pipeline_check.reading.unreadable import UnreadableError

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is twenty times as fast
STEERING = re.compile(r"\s*(\{\{-?\s*[^}]*\}\}|\{%.*%\})\s*")
EXPRESSION = re.compile(r"\{\{.*?\}\}")
WORDS = dict.fromkeys(("true", "yes", "on"), "true")
WORDS |= dict.fromkeys(("false", "no", "off"), "false")
WORDS |= dict.fromkeys(("null", "~"), "")


class TemplateError(UnreadableError):
    """A template that is no YAML before it is filled in."""


def read_yaml(file: str, text: str) -> list[Block]:
    """Return every block of every document.

    A Spring profile is read together with the settings that all profiles share.
    """
    found: list[Block] = []
    shared: Settings = {}
    try:
        documents = parse_yaml(file, text)
    except TemplateError as broken:
        what = "a template, whose result nobody knows here"
        return [Block(file, broken.line, "unjudged", what)]
    for document in documents:
        if document.text("apiVersion") and document.text("kind"):
            found += kubernetes_blocks(file, document)
            continue
        if is_compose(document):
            found += compose_blocks(file, document)
            continue
        own = {name: Setting(str(node.value), node.line) for name, node in flatten(document)}
        is_about_kafka = any("kafka" in name for name in own)
        is_profile = any("on-profile" in name or name == "spring.profiles" for name in own)
        settings = shared | own if is_profile else own
        flat = flat_blocks(file, without_brackets(settings)) if is_about_kafka else []
        is_judged = any(block.kind != "unjudged" for block in flat)
        found += flat if is_judged else list(nested_blocks(file, document)) or flat
        if not is_profile:
            shared = shared | own
    return found


def nested_blocks(file: str, document: Node) -> Iterator[Block]:
    """Yield what mappings inside hold under Kafka's own dotted names: in Helm's values, say."""
    waiting = [(document, "")]
    seen = set()  # aliases may repeat a part without end
    while waiting:
        node, image_around = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        image = image_in(node) or image_around
        yield from [run_by(each, image) for each in blocks_of_mapping(file, node)]
        children = [child for _, child in node.items()] + node.elements()
        waiting += [(child, image) for child in children]


def image_in(node: Node) -> str:
    """Return the image that a part of Helm's values names, in one text or in its parts."""
    image = node.get("image")
    if not image or isinstance(image.value, str):
        return image.text() if image else ""
    registry, repository, tag = (image.text(each) for each in ("registry", "repository", "tag"))
    path = "/".join(each for each in (registry, repository or image.text("name")) if each)
    return f"{path}:{tag or node.text('imageTag')}"


def blocks_of_mapping(file: str, node: Node) -> Iterator[Block]:
    """Yield what one mapping holds: variables of a worker, or dotted names."""
    own = {
        name: Setting(str(each.value), each.line)
        for name, each in node.items()
        if isinstance(each.value, str)
    }
    if any(name.startswith("CONNECT_") for name in own):
        yield from environment_blocks(file, own)
    elif any("." in name for name in own):
        yield from [block for block in classify(file, own) if block.kind != "unjudged"]


def without_brackets(settings: Settings) -> Settings:
    """Return settings whose names in Spring's brackets, `properties.[acks]`, are plain."""
    return {name.replace(".[", ".").replace("]", ""): each for name, each in settings.items()}


def parse_yaml(file: str, text: str) -> list[Node]:
    """Return every document of a file, or say at which line it is no YAML."""
    try:
        builder = Builder(file, yaml.parse(text, Loader=LOADER))
        return [document for document in builder.documents() if document]
    except yaml.MarkedYAMLError as broken:
        mark = broken.problem_mark or broken.context_mark
        line = mark.line + 1 if mark else 1
        if "{{" in text:
            return parse_yaml(file, without_template(text))
        if FILLED_IN in text:
            raise TemplateError(file, line, "a template") from None
        raise UnreadableError(file, line, f"not YAML: {broken.problem}") from None
    except (yaml.YAMLError, ValueError) as broken:  # a forbidden character, an impossible escape
        at = getattr(broken, "position", 0) or 0
        line = text.count("\n", 0, at) + 1
        reason = str(broken).splitlines()[0]
        raise UnreadableError(file, line, f"not YAML: {reason}") from None


def without_template(text: str) -> str:
    """Return Helm's or Jinja's template with an unknown value wherever something is filled in.

    Lines that only steer it are left empty, so that all others keep their numbers.
    """
    lines = []
    for line in text.splitlines():
        is_steering = STEERING.fullmatch(line) is not None
        lines.append("" if is_steering else EXPRESSION.sub(FILLED_IN, line))
    return "\n".join(lines).replace("{{", "").replace("}}", "")


class Builder:
    """Builds nodes out of a stream of events."""

    def __init__(self, file: str, events: Iterator[yaml.Event]) -> None:
        self.file = file
        self.events = events
        self.anchors: dict[str, Node] = {}

    def documents(self) -> Iterator[Node | None]:
        """Yield one node for each document."""
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors = {}
                yield self.next_node(0)

    def next_node(self, depth: int) -> Node | None:
        """Return the node that begins with the next event; none at the end of a collection."""
        event = next(self.events)
        line = event.start_mark.line + 1 if event.start_mark else 1
        if depth > DEPTH:
            raise UnreadableError(self.file, line, f"nested deeper than {DEPTH}")
        if isinstance(event, yaml.AliasEvent):
            return self.anchors.get(str(event.anchor), Node("", line))
        if isinstance(event, yaml.ScalarEvent):
            node = Node(scalar_text(event), line, plain=event.implicit[0])
        elif isinstance(event, yaml.SequenceStartEvent):
            node = Node(self.items(depth), line)
        elif isinstance(event, yaml.MappingStartEvent):
            node = Node(self.fields(depth), line)
        else:
            return None
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def items(self, depth: int) -> list[Node]:
        """Return the elements of a list."""
        found = []
        item = self.next_node(depth + 1)
        while item:
            found.append(item)
            item = self.next_node(depth + 1)
        return found

    def fields(self, depth: int) -> dict[str, Node]:
        """Return names and values; `<<` brings in what is not set here."""
        own: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        key = self.next_node(depth + 1)
        while key:
            value = self.next_node(depth + 1)
            if not value:
                break
            if key.value == "<<":
                for source in [*reversed(value.elements()), value]:
                    merged.update(source.items())
            elif isinstance(key.value, str):
                own[key.value] = value
            key = self.next_node(depth + 1)
        return merged | own


def scalar_text(event: yaml.ScalarEvent) -> str:
    """Return the text; unquoted, true and false have several spellings, and null is nothing."""
    text = str(event.value)
    is_quoted = not event.implicit[0]
    return text if is_quoted else WORDS.get(text.lower(), text)
