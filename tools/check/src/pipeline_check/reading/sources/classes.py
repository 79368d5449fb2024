"""Java and Kotlin across the files of a project: constants, methods, and classes of properties."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from pipeline_check.reading.block import Setting
from pipeline_check.reading.sources.java_names import VALUES, setting_of
from pipeline_check.reading.sources.project import (
    agreed_properties,
    class_file,
    plain,
    root_of,
    text_of,
)
from pipeline_check.reading.sources.resources import application_settings
from pipeline_check.reading.sources.shapes import TYPES, call_of, plain_name, string_of, unwrapped
from pipeline_check.reading.sources.trees import Tree, line_of, parse, walk
from pipeline_check.reading.sources.trees import text_of as node_text
from pipeline_check.reading.sources.values import Source

CLASSES = {"class_declaration", "record_declaration", "object_declaration", "enum_declaration"}
ANNOTATION = "ConfigurationProperties"
MEMBERS = {"field_access", "navigation_expression"}
GETTERS = ("get", "is")


def load_source(file: str, text: str, suffix: str) -> Source:
    """Return a source that knows the other classes of its project."""
    properties = application_settings(file)
    root = parse(suffix, text)
    return Source(root, setting_of, VALUES, properties, file, in_another_class, of_bean)


@cache
def load_class(path: Path) -> Source:
    """Return the source of another class."""
    return load_source(str(path), text_of(path), path.suffix)


def find_class(source: Source, name: str) -> Source | None:
    """Return the source of a class that is not in this file."""
    if not source.file or not name[:1].isupper():
        return None
    path = class_file(source.file, name, source.imported)
    return load_class(path) if path and str(path) != str(Path(source.file).absolute()) else None


def in_another_class(source: Source, dotted: str) -> tuple[Source, str] | None:
    """Return the class that has a constant or a method, and its name there.

    Before the name stands the class, an object of it, or nothing: of a static import, of a base.
    """
    owner, _, name = dotted.rpartition(".")
    names = [owner.rpartition(".")[2]] if owner else []
    if owner and not names[0][:1].isupper():
        names = [source.declared_types.get(owner, "")]
    if not owner:
        static = source.imported.get(name, "")
        names = [static.split(".")[-2]] if static.count(".") else list(bases(source))
    for each in names:
        other = find_class(source, each)
        if other:
            return other, name
    return None


def bases(source: Source) -> Iterator[str]:
    """Yield the names of the classes that this file's classes extend."""
    for node in source.nodes:
        if node.type in {"superclass", "delegation_specifier"}:
            yield from [node_text(each) for each in walk(node) if each.type in TYPES][:1]


# Classes of properties


def of_bean(source: Source, node: Tree) -> Setting | None:
    """Return what `properties.getAcks()` is, by the class of `properties` and the application."""
    chain = accessors(node) if source.file else None
    kind = source.declared_types.get(chain[0], "") if chain else ""
    if not chain or not kind:
        return None
    other = find_class(source, kind) or source
    holder = next((each for each in other.nodes if is_class(each, kind)), None)
    if holder is None:
        return None
    path = chain[1]
    prefix = prefix_of(holder)
    found = None
    if prefix is not None:
        found = property_named(source, f"{prefix}.{'.'.join(path)}".lstrip("."))
    if not found and len(path) == 1:
        found = of_field(source, other, path[0], kind, is_declared=prefix is not None)
    return replace(found, line=line_of(node)) if found else None


def of_field(
    source: Source, other: Source, name: str, kind: str, *, is_declared: bool
) -> Setting | None:
    """Return what Spring puts into a field of another class, or the field's own default."""
    if name in other.injected:
        text = other.injected[name]
        found = other.of_property(text, 1)
        asked = text.removeprefix("${").partition(":")[0].rstrip("}")
        return found if found.known else property_named(source, asked) or found
    default = other.at_top(name, 1) if is_declared else None
    if not default or not default.known:
        return None
    return replace(default, source=f"{kind}.{name}, whose default is judged")


def is_class(node: Tree, name: str) -> bool:
    """Return whether a node declares the class of a name."""
    if node.type not in CLASSES:
        return False
    return any(
        each.type == "identifier" and node_text(each) == name for each in node.named_children
    )


def prefix_of(holder: Tree) -> str | None:
    """Return the prefix of a class of properties; nothing if it is none."""
    for modifiers in holder.named_children:
        for annotation in modifiers.named_children if modifiers.type == "modifiers" else []:
            if ANNOTATION in node_text(annotation):
                strings = [string_of(each) for each in walk(annotation)]
                return next((each for each in strings if each), "")
    return None


def accessors(node: Tree) -> tuple[str, list[str]] | None:
    """Return the variable and the fields of `a.getB().getC()`, `a.b().c()` and `a.b.c`."""
    path: list[str] = []
    while True:
        node = unwrapped(node)
        call = call_of(node)
        if call and not call.arguments and node.type == "method_invocation":
            target = node.child_by_field_name("object")
            if target is None:
                return None
            path.append(field_name(node_text(node.child_by_field_name("name"))))
            node = target
        elif call and not call.arguments and node.type == "call_expression":
            node = node.named_children[0]
        elif node.type in MEMBERS and node_text(node.named_children[0]) != "this":
            path.append(field_name(node_text(node.named_children[-1])))
            node = node.named_children[0]
        else:
            break
    owner = plain_name(node).removeprefix("this.")
    return (owner, path[::-1]) if owner and path else None


def field_name(accessor: str) -> str:
    """Return the field that a getter returns."""
    for start in GETTERS:
        rest = accessor.removeprefix(start)
        if rest != accessor and rest[:1].isupper():
            return rest[0].lower() + rest[1:]
    return accessor


def property_named(source: Source, name: str) -> Setting | None:
    """Return a property as the application has it, or as all applications of the project do."""
    wanted = plain(name)
    for key, each in source.properties.items():
        if plain(key) == wanted:
            return each
    return agreed_properties(root_of(source.file)).get(wanted)
