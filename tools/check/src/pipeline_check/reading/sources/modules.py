"""JavaScript and Go across the files of a project: what is imported, and what a package has."""

import re
from functools import cache
from pathlib import Path

from pipeline_check.reading.sources.project import (
    package_files,
    package_folder,
    script_file,
    text_of,
)
from pipeline_check.reading.sources.shapes import call_of, string_of, unwrapped
from pipeline_check.reading.sources.trees import Tree, parse, walk
from pipeline_check.reading.sources.trees import text_of as node_text
from pipeline_check.reading.sources.values import Source

USUAL = {
    r"github\.com/(?:IBM|Shopify)/sarama": "sarama",
    r"github\.com/twmb/franz-go/pkg/kgo": "kgo",
    r"github\.com/segmentio/kafka-go": "kafka",
    r"github\.com/confluentinc/confluent-kafka-go": "kafka",
}
CONSTANTS: dict[str, object] = {
    "sarama.WaitForAll": "all",
    "sarama.WaitForLocal": "1",
    "sarama.NoResponse": "0",
    "sarama.OffsetOldest": "earliest",
    "sarama.OffsetNewest": "latest",
    "sarama.ReadCommitted": "read_committed",
    "sarama.ReadUncommitted": "read_uncommitted",
    "kafka.FirstOffset": "earliest",
    "kafka.LastOffset": "latest",
    "kafka.RequireAll": "all",
    "kafka.RequireOne": "1",
    "kafka.RequireNone": "0",
}

EVERYTHING = "*"
DEFAULTS = ("default", "module.exports")

# JavaScript


def script_source(file: str, text: str, suffix: str) -> Source:
    """Return a source that knows the modules which it imports from its own project."""
    return Source(parse(suffix, text), lambda _: "", file=file, elsewhere=in_another_script)


@cache
def load_script(file: str) -> Source:
    """Return the source of another module."""
    path = Path(file)
    return script_source(file, text_of(path), path.suffix)


def in_another_script(source: Source, dotted: str) -> tuple[Source, str] | None:
    """Return the module that has an imported name, and the name there."""
    first, *rest = dotted.split(".")
    found = imports(source).get(first) if source.file else None
    file = script_file(source.file, found[0]) if found else ""
    if not found or not file:
        return None
    other = load_script(file)
    exported = found[1]
    if exported == EVERYTHING:
        names = [".".join(rest), ".".join(["module.exports", *rest])]
    elif exported == "default":
        names = [".".join([each, *rest]) for each in DEFAULTS]
    else:
        names = [".".join([exported, *rest]), ".".join(["module.exports", exported, *rest])]
    for name in names:
        aliased = alias_of(other, name)
        if has(other, aliased):
            return other, aliased
    return None


def alias_of(source: Source, name: str) -> str:
    """Return the name of what `export default config` exports."""
    for each in DEFAULTS:
        bound = source.binding_for(each, source.root) if name.startswith(each) else None
        if bound and bound.value.type == "identifier":
            return node_text(bound.value) + name.removeprefix(each)
    return name


def has(source: Source, name: str) -> bool:
    """Return whether a module binds a name, or the beginning of it, or has such a function."""
    known = {*source.bindings, *source.functions}
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        beginning = ".".join(parts[:count])
        if beginning in known:
            return True
    return False


def imports(source: Source) -> dict[str, tuple[str, str]]:
    """Return each imported name with its module, and what it is called there."""
    found: dict[str, tuple[str, str]] = {}
    for node in source.root.named_children:
        if node.type == "import_statement":
            module = next((string_of(each) or "" for each in node.named_children[1:]), "")
            for name, exported in imported_names(node):
                found[name] = (module, exported)
        for each in node.named_children:
            value = (
                each.child_by_field_name("value") if each.type == "variable_declarator" else None
            )
            call = call_of(unwrapped(value)) if value is not None else None
            if call and call.name == "require" and len(call.arguments) == 1:
                module = string_of(call.arguments[0]) or ""
                for name, exported in required_names(each.named_children[0]):
                    found[name] = (module, exported)
    return found


def imported_names(statement: Tree) -> list[tuple[str, str]]:
    """Return the names of an import, and what each is called where it comes from."""
    found = []
    for node in walk(statement):
        names = [node_text(each) for each in node.named_children]
        if node.type == "import_specifier":
            found.append((names[-1], names[0]))
        elif node.type == "namespace_import":
            found.append((names[0], EVERYTHING))
        elif node.type == "import_clause":
            found += [
                (node_text(each), "default")
                for each in node.named_children
                if each.type == "identifier"
            ]
    return found


def required_names(target: Tree) -> list[tuple[str, str]]:
    """Return the names that `const … = require(…)` binds, as for an import."""
    if target.type == "identifier":
        return [(node_text(target), EVERYTHING)]
    found = []
    for each in target.named_children:
        names = [node_text(inner) for inner in each.named_children] or [node_text(each)]
        found.append((names[-1], names[0]))
    return found


# Go


def in_another_package_file(source: Source, dotted: str) -> tuple[Source, str] | None:
    """Return the file of the same package, or of an imported one, that has a name."""
    owner, _, name = dotted.rpartition(".")
    if not source.file or "." in owner or not name:
        return None
    folder: Path | None = Path(source.file).absolute().parent
    if owner:
        path = go_imports(source).get(owner)
        folder = package_folder(source.file, path) if path else None
    for each in package_files(folder) if folder else ():
        other = load_go(each)
        is_other = str(each) != str(Path(source.file).absolute())
        if is_other and (at_top_of(other, name) or name in other.functions):
            return other, name
    return None


def at_top_of(source: Source, name: str) -> bool:
    """Return whether a file declares a name outside its functions."""
    return any(not is_inside(each.node) for each in source.bindings.get(name, []))


def is_inside(node: Tree) -> bool:
    """Return whether a node is inside a function."""
    outer = node.parent
    while outer is not None:
        if outer.type in {"function_declaration", "method_declaration", "func_literal"}:
            return True
        outer = outer.parent
    return False


def go_imports(source: Source) -> dict[str, str]:
    """Return the path of each imported package by its name here."""
    found = {}
    for node in source.root.named_children:
        for each in walk(node) if node.type == "import_declaration" else ():
            if each.type == "import_spec":
                path = string_of(each.named_children[-1]) or ""
                alias = node_text(each.named_children[0]) if each.named_child_count > 1 else ""
                found[alias or path.rpartition("/")[2]] = path
    return found


@cache
def load_go(path: Path) -> Source:
    """Return the source of another file in Go."""
    return go_source(str(path), text_of(path), path.suffix)


def with_usual_names(text: str) -> str:
    """Return a source whose imports of these packages have no names of their own."""
    for path, usual in USUAL.items():
        own = re.search(rf'^\s*(?:import\s+)?(\w+)\s+"{path}', text, re.MULTILINE)
        if own and own[1] not in {usual, "import"}:
            text = re.sub(rf"\b{own[1]}\.(?=[A-Z])", f"{usual}.", text)
    return text


def go_source(file: str, text: str, suffix: str) -> Source:
    """Return a source that knows the other files of its package, and its own module's packages."""
    root = parse(suffix, with_usual_names(text))
    return Source(root, lambda _: "", CONSTANTS, file=file, elsewhere=in_another_package_file)
