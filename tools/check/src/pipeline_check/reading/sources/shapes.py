"""What the languages have in common: calls, bindings, changes, pairs, literals, functions.

Each function takes a node of any of the grammars, and returns nothing for what it is not.
"""

from collections.abc import Iterator
from typing import NamedTuple

from pipeline_check.reading.sources.trees import Tree, ancestors, text_of, walk

FUNCTIONS = {
    "method_declaration",
    "constructor_declaration",
    "function_declaration",
    "secondary_constructor",
    "func_literal",
    "arrow_function",
    "function_expression",
    "generator_function_declaration",
    "method_definition",
}
CONDITIONS = {
    "if_statement",
    "if_expression",
    "switch_expression",
    "switch_statement",
    "when_expression",
    "for_statement",
    "enhanced_for_statement",
    "for_in_statement",
    "while_statement",
    "catch_clause",
    "catch_block",
    "expression_switch_statement",
}
STRINGS = {"string_literal", "interpreted_string_literal", "raw_string_literal", "string"}
NUMBERS = {"decimal_integer_literal", "number_literal", "int_literal", "number", "integer_literal"}
WRAPPERS = {  # that only wrap a value
    "parenthesized_expression",
    "cast_expression",
    "as_expression",
    "value_argument",
    "literal_element",
    "expression_list",
    "await_expression",
    "non_null_expression",
    "satisfies_expression",
}
MEMBERS = {"field_access", "navigation_expression", "selector_expression", "member_expression"}
CREATIONS = {"object_creation_expression": "type", "new_expression": "constructor"}
CALLS = {"method_invocation", "call_expression", *CREATIONS}
ARGUMENTS = {"argument_list", "arguments", "value_arguments"}


PARAMETERS = {"formal_parameters", "function_value_parameters", "parameter_list"}
IMPORTS = {"import_declaration", "import"}
DECLARING = {
    "field_declaration",
    "formal_parameter",
    "local_variable_declaration",
    "class_parameter",
    "parameter",
    "property_declaration",
}
TYPES = {"type_identifier", "user_type", "generic_type", "scoped_type_identifier"}


class Call(NamedTuple):
    """A call or a creation, by the name that is called."""

    name: str  # with what is before it: kafka.NewProducer, this.kafka.producer, KafkaProducer
    arguments: list[Tree]
    node: Tree

    @property
    def last(self) -> str:
        """Return the last part of the name."""
        return self.name.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """Return what is before the last part."""
        return self.name.rpartition(".")[0]


class Binding(NamedTuple):
    """A name, or a field of one, and the value that it is given."""

    name: str
    value: Tree
    node: Tree


def unwrapped(node: Tree) -> Tree:
    """Return a node without parentheses, casts, and Go's address operator."""
    while True:
        children = node.named_children
        if node.type == "unary_expression" and text_of(node).startswith("&"):
            node = children[0]
        elif node.type in WRAPPERS and children:
            node = children[-1] if node.type == "cast_expression" else children[0]
        else:
            return node


def plain_name(node: Tree) -> str:
    """Return a dotted name without type arguments; nothing for an expression that is none."""
    node = unwrapped(node)
    if node.type in {"generic_type", "instantiation_expression"}:
        return plain_name(node.named_children[0])
    if node.type in MEMBERS:
        first, *rest = node.named_children
        if not rest:
            return ""
        before = plain_name(first)
        return f"{before}.{text_of(rest[-1])}" if before else ""
    if node.type in {"qualified_type", "scoped_type_identifier", "user_type"}:
        return ".".join(text_of(each) for each in node.named_children)
    if node.named_child_count and node.type not in {"this", "super"}:
        return ""
    return text_of(node)


def call_of(node: Tree) -> Call | None:
    """Return the call that a node is."""
    if node.type not in CALLS:
        return None
    given: list[Tree] = []
    for child in node.named_children:
        if child.type in ARGUMENTS:
            given = [each for each in child.named_children if "comment" not in each.type]
    if node.type in CREATIONS:
        made = node.child_by_field_name(CREATIONS[node.type])
        return Call(plain_name(made) if made else "", given, node)
    if node.type == "method_invocation":
        target = node.child_by_field_name("object")
        name = text_of(node.child_by_field_name("name"))
        before = name_of_target(target)
        return Call(f"{before}.{name}" if target else name, given, node)
    callee = node.child_by_field_name("function") or node.named_children[0]
    return Call(callee_name(callee), given, node)


def callee_name(callee: Tree) -> str:
    """Return the name of what is called, such as `.apply` on something without a name."""
    name = plain_name(callee)
    if not name and callee.type in MEMBERS:
        return f"().{text_of(callee.named_children[-1])}"
    return name


def name_of_target(target: Tree | None) -> str:
    """Return the name of what a method belongs to."""
    return (plain_name(target) or "()") if target else ""


def binding_of(node: Tree) -> Binding | None:
    """Return the name that a declaration or an assignment gives a value to."""
    if node.type in {"variable_declarator", "const_spec", "var_spec"}:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        return Binding(text_of(name), unwrapped(value), node) if name and value else None
    if node.type in {"short_var_declaration", "assignment_statement"}:
        left = node.child_by_field_name("left").named_children
        right = node.child_by_field_name("right").named_children
        is_plain = left and len(right) == 1
        return Binding(dotted(left[0]), unwrapped(right[0]), node) if is_plain else None
    if node.type in {"assignment_expression", "assignment"}:
        left = node.child_by_field_name("left")
        right = node.child_by_field_name("right")
        is_member = left is not None and right is not None
        return Binding(dotted(left), unwrapped(right), node) if is_member else None
    if node.type == "property_declaration":  # Kotlin's
        declared = [each for each in node.named_children if each.type == "variable_declaration"]
        value = node.named_children[-1] if node.named_children else None
        has_value = value is not None and value.type not in {"variable_declaration", "modifiers"}
        if declared and has_value and value is not None:
            return Binding(text_of(declared[0].named_children[0]), unwrapped(value), node)
    return binding_of_script(node)


def binding_of_script(node: Tree) -> Binding | None:
    """Return the same of JavaScript's fields, and of what `export default …` exports."""
    value = node.child_by_field_name("value")
    if node.type == "export_statement":
        return Binding("default", unwrapped(value), node) if value else None
    if node.type in {"field_definition", "public_field_definition"}:
        name = node.child_by_field_name("property") or node.child_by_field_name("name")
        return Binding(text_of(name), unwrapped(value), node) if name and value else None
    return None


def dotted(node: Tree) -> str:
    """Return the name of what is assigned to, without `this`."""
    return plain_name(node).removeprefix("this.")


def item_of(node: Tree) -> tuple[str, Tree, Tree] | None:
    """Return the map, the key and the value of `map[key] = value`."""
    if node.type not in {"assignment", "assignment_expression", "assignment_statement"}:
        return None
    left = node.child_by_field_name("left")
    right = node.child_by_field_name("right")
    if left is None or right is None:
        return None
    target = unwrapped(left)
    if target.type in {"index_expression", "subscript_expression", "array_access"}:
        whole, key = target.named_children[0], target.named_children[-1]
        return plain_name(whole).removeprefix("this."), unwrapped(key), unwrapped(right)
    return None


def pairs_of(node: Tree) -> list[tuple[Tree | None, Tree]] | None:
    """Return keys and values of a literal; a spread has no key."""
    if node.type == "object":
        return list(object_pairs(node))
    if node.type == "composite_literal":
        body = node.child_by_field_name("body")
        found: list[tuple[Tree | None, Tree]] = []
        for each in body.named_children if body else []:
            if each.type == "keyed_element":
                key, value = each.named_children[0], each.named_children[-1]
                found.append((unwrapped(key), unwrapped(value)))
        return found
    return None


def object_pairs(node: Tree) -> Iterator[tuple[Tree | None, Tree]]:
    """Yield keys and values of an object in JavaScript."""
    for each in node.named_children:
        if each.type == "pair":
            yield each.child_by_field_name("key"), unwrapped(each.child_by_field_name("value"))
        elif each.type == "spread_element":
            yield None, unwrapped(each.named_children[0])
        elif each.type == "shorthand_property_identifier":
            yield each, each


def string_of(node: Tree) -> str | None:
    """Return the text of a literal string; none of one with something filled in."""
    if node.type not in STRINGS:
        return None
    inside = node.named_children
    if any("interpolat" in each.type or "substit" in each.type for each in inside):
        return None
    parts = [text_of(each) for each in inside]
    if not parts:
        return text_of(node).strip("\"'`")
    return "".join(parts).replace("\\$", "$")


def literal_of(node: Tree) -> object:
    """Return a literal's value; None for what is none."""
    string = string_of(node)
    if string is not None:
        return string
    text = text_of(node)
    if node.type in NUMBERS:
        digits = text.replace("_", "").rstrip("lLuU")
        return int(digits) if digits.isdigit() else None
    if node.type in {"unary_expression", "prefix_expression", "prefix_unary_expression"}:
        digits = text.removeprefix("-")
        return -int(digits) if text.startswith("-") and digits.isdigit() else None
    if node.type in {"true", "false", "boolean_literal"} or text in {"true", "false"}:
        return text == "true"
    return None


def function_around(node: Tree) -> Tree | None:
    """Return the function that a node is in."""
    return next((each for each in ancestors(node) if each.type in FUNCTIONS), None)


def conditions_around(node: Tree, function: Tree | None) -> Iterator[Tree]:
    """Yield the bodies inside a function that run only under a condition, around a node."""
    inner = node
    for each in ancestors(node):
        if function is not None and each.id == function.id:
            return
        if each.type in CONDITIONS:
            yield inner
        inner = each


def function_name(node: Tree) -> str:
    """Return the name of a function, or of what it is assigned to."""
    name = node.child_by_field_name("name")
    if name:
        return text_of(name)
    binding = binding_of(node.parent) if node.parent else None
    return binding.name if binding else ""


def imported_name(node: Tree) -> str:
    """Return the full name that an import of Java or Kotlin brings in, also a static one."""
    dotted = text_of(node).removeprefix("import").strip().rstrip(";").strip()
    return dotted.removeprefix("static ").strip()


def declared_type(node: Tree) -> tuple[str, str] | None:
    """Return the name that is declared with a type, and the type's own name."""
    types = [each for each in walk(node) if each.type in TYPES]
    name = declared_name(node)
    return (name, plain_name(types[0]).rpartition(".")[2]) if name and types else None


def declared_name(node: Tree) -> str:
    """Return the name of a field, a property or a parameter."""
    for each in walk(node):
        if each.type == "variable_declarator":
            return text_of(each.child_by_field_name("name"))
        if each.type == "variable_declaration":
            return text_of(each.named_children[0])
    name = node.child_by_field_name("name")
    if name:
        return text_of(name)
    plain = [each for each in node.named_children if each.type == "identifier"]
    return text_of(plain[0]) if plain else ""


def parameters_of(function: Tree) -> list[tuple[str, Tree | None]]:
    """Return the parameters of a function in their sequence, each with its default."""
    found: list[tuple[str, Tree | None]] = []
    node = function.child_by_field_name("parameters")
    if node is None:
        inside = [each for each in function.named_children if each.type in PARAMETERS]
        node = inside[0] if inside else None
    for each in node.named_children if node is not None else []:
        if each.type == "identifier":
            found.append((text_of(each), None))
            continue
        names = [inner for inner in each.named_children if inner.type == "identifier"]
        default = each.child_by_field_name("value") or each.child_by_field_name("right")
        kept = names[-1:] if each.type in {"formal_parameter", "spread_parameter"} else names
        found += [(text_of(inner), default) for inner in kept]
    return found
