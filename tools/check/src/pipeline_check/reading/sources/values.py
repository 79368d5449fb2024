"""What an expression in such a source is worth, and what a map of settings holds."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from pipeline_check.reading.block import Setting
from pipeline_check.reading.placeholder import substituted_setting
from pipeline_check.reading.python_dictionaries import Contents
from pipeline_check.reading.sources.shapes import (
    CREATIONS,
    DECLARING,
    FUNCTIONS,
    IMPORTS,
    Binding,
    Call,
    binding_of,
    call_of,
    conditions_around,
    declared_name,
    declared_type,
    function_around,
    function_name,
    imported_name,
    item_of,
    literal_of,
    pairs_of,
    parameters_of,
    plain_name,
    string_of,
    unwrapped,
)
from pipeline_check.reading.sources.trees import Tree, contains, line_of, text_of, walk

DEEPEST = 12
LONGEST = 60
EMPTY_MAPS = re.compile(
    r"Properties|(Linked|Concurrent)?HashMap|TreeMap|make|hashMapOf|mutableMapOf|mapOf|Map"
)
FOREIGN = re.compile(r"(Serializer|Deserializer|Serde|SslConfigs|SaslConfigs)\.[A-Z_]+$")
NAMES_A_CLASS = re.compile(r"(\.class|::class\.java)(\.getName\(\)|\.getCanonicalName\(\)|\.name)$")
PREFIXES = {
    "producerPrefix": "producer.",
    "consumerPrefix": "consumer.",
    "adminClientPrefix": "admin.",
}
FILLED_MAPS = {"of", "mapOf", "hashMapOf", "mutableMapOf", "linkedMapOf", "ofEntries"}
PUTTING = {"put", "setProperty", "putIfAbsent", "SetKey", "set"}
LOADING = {"load", "loadFromXML", "from", "compute", "merge"}
# What is given a map and does not change it.
HARMLESS = re.compile(
    r"^(log|logger|LOG|LOGGER|console|System|Objects|Collections|String|fmt|Map|Arrays)\."
    r"|\b(New\w*|new\w*|create\w*|Kafka\w+|print\w*|requireNonNull|copyOf|unmodifiable\w+|of"
    r"|Default\w+Factory|get|StreamsConfig|len|hashMapOf|producer|consumer|setAll|equals)$"
)
MERGING = {"putAll", "plus", "putAllIfAbsent"}
PLACEHOLDER = re.compile(r"\$\{([\w.-]+)(?::[^}]*)?\}")
FIELD_CHANGES = {"assignment_expression", "assignment", "assignment_statement"}
RETURNS = {"return_statement", "return_expression"}
SCOPED = {"apply", "also"}
COPYING = {"toMap", "toMutableMap", "toProperties"}
CONVERTING = {"valueOf", "toString", "String", "parseInt", "Number", "parseBoolean"}
ENVIRONMENT = {"getProperty", "getOrDefault", "getenv", "Getenv", "getEnv", "GetEnv", "LookupEnv"}
NUMBERS: Mapping[str, object] = {
    "Integer.MAX_VALUE": 2147483647,
    "Int.MAX_VALUE": 2147483647,
    "math.MaxInt32": 2147483647,
    "Boolean.TRUE": True,
    "Boolean.FALSE": False,
}


def nowhere_at_all(_source: "Source", _node: Tree) -> None:
    """Return nothing: no class holds properties here."""


def nowhere(_source: "Source", _name: str) -> None:
    """Return nothing: no other file is asked."""


@dataclass(frozen=True)
class Source:
    """One file: its tree, what its language's settings are called, and its constants."""

    root: Tree
    name_of: Callable[[str], str]  # a setting's name for a constant such as ACKS_CONFIG
    constants: Mapping[str, object] = field(default_factory=dict)
    properties: Mapping[str, Setting] = field(default_factory=dict)  # of Spring's application
    file: str = ""
    # Where a dotted name is defined in another file of the project, and what it is called there.
    elsewhere: "Callable[[Source, str], tuple[Source, str] | None]" = nowhere
    # The value of a getter or a field of a class that holds properties, in the same way.
    of_bean: "Callable[[Source, Tree], Setting | None]" = nowhere_at_all

    @cached_property
    def nodes(self) -> list[Tree]:
        """Return every node."""
        return list(walk(self.root))

    @cached_property
    def calls(self) -> list[Call]:
        """Return every call."""
        return [call for call in map(call_of, self.nodes) if call]

    @cached_property
    def bindings(self) -> dict[str, list[Binding]]:
        """Return every name with what gives it a value."""
        found: dict[str, list[Binding]] = defaultdict(list)
        for binding in filter(None, map(binding_of, self.nodes)):
            found[binding.name].append(binding)
        return found

    @cached_property
    def functions(self) -> dict[str, list[Tree]]:
        """Return every function by its name."""
        found: dict[str, list[Tree]] = defaultdict(list)
        for node in self.nodes:
            if node.type in FUNCTIONS:
                found[function_name(node)].append(node)
        return found

    @cached_property
    def injected(self) -> dict[str, str]:
        """Return the fields that Spring fills, with the text of their `@Value`."""
        found = {}
        for node in self.nodes:
            text = value_annotation(node)
            name = declared_name(node) if text else ""
            if text and name:
                found[name] = text
        return found

    @cached_property
    def imported(self) -> dict[str, str]:
        """Return the full name of each class, and of each static name, that is imported."""
        names = [imported_name(each) for each in self.root.named_children if each.type in IMPORTS]
        return {name.rpartition(".")[2]: name for name in names}

    @cached_property
    def declared_types(self) -> dict[str, str]:
        """Return the type of each field, parameter and variable that has only one."""
        found: dict[str, set[str]] = defaultdict(set)
        for node in self.nodes:
            declared = declared_type(node) if node.type in DECLARING else None
            if declared:
                found[declared[0]].add(declared[1])
        return {name: next(iter(types)) for name, types in found.items() if len(types) == 1}

    # Single values

    def value(self, node: Tree, depth: int = 0) -> Setting:
        """Return the value of an expression; what is not written in this file is unknown."""
        node = unwrapped(node)
        line = line_of(node)
        literal = literal_of(node)
        name = plain_name(node)
        if literal is None:
            literal = self.constants.get(name, NUMBERS.get(name))
        if literal is not None:
            return Setting(as_text(literal), line, literal=literal)
        if name and depth < DEEPEST:
            found = self.of_name(name, node, depth)
            return found if found.known else self.of_bean(self, node) or found
        return self.calculated(node, depth)

    def calculated(self, node: Tree, depth: int) -> Setting:
        """Return the value of an expression that is neither a literal nor a name."""
        call = call_of(node)
        if call and call.last in ENVIRONMENT and call.arguments:
            return self.of_environment(call, depth)
        if call and call.last in CONVERTING and len(call.arguments) == 1 and depth < DEEPEST:
            return self.value(call.arguments[0], depth + 1)
        either = default_beside(node)
        if either and depth < DEEPEST:
            default = self.value(either[1], depth + 1)
            source = f"{shortened(either[0])}, whose default is judged"
            return Setting(default.text, line_of(node), source, default.known, default.literal)
        return self.of_bean(self, node) or unknown(node)

    def of_environment(self, call: Call, depth: int) -> Setting:
        """Return the default of a variable or of a property of the program."""
        asked = string_of(unwrapped(call.arguments[0]))
        if asked in self.properties and call.last == "getProperty":
            return self.of_property(f"${{{asked}}}", line_of(call.node))
        if len(call.arguments) < 2:
            return unknown(call.node)
        default = self.value(call.arguments[1], depth + 1)
        source = f"{shortened(call.arguments[0])}, whose default is judged"
        line = line_of(call.node)
        return Setting(default.text, line, source, default.known, default.literal)

    def of_name(self, name: str, node: Tree, depth: int) -> Setting:
        """Return the value of a name that is bound once, or that Spring fills."""
        plain = name.removeprefix("this.")
        if plain in self.injected:
            return self.of_property(self.injected[plain], line_of(node))
        bound = self.binding_for(plain, node)
        if bound and not any(conditions_around(bound.node, function_around(bound.node))):
            found = self.value(bound.value, depth + 1)
            return Setting(found.text, line_of(node), found.source, found.known, found.literal)
        return unknown(node) if bound else self.of_far_name(plain, node, depth)

    def of_far_name(self, plain: str, node: Tree, depth: int) -> Setting:
        """Return the value of a name that nothing here binds: of a parameter, a member, a class."""
        given = self.argument_for(plain, node)
        if given is not None and depth < DEEPEST:
            found = self.value(given, depth + 1)
            return replace(found, line=line_of(node))
        member = self.member(plain, node, depth)
        if member:
            return member
        last = plain.rpartition(".")[2]
        if last != plain and last.isupper():  # a constant of another class in this file
            found = self.of_name(last, node, depth + 1)
            if found.known:
                return found
        place = self.elsewhere(self, plain) if depth < DEEPEST else None
        if place:
            other, there = place
            found = other.at_top(there, depth + 1)
            return replace(found, line=line_of(node)) if found.known else unknown(node)
        return unknown(node)

    def at_top(self, name: str, depth: int) -> Setting:
        """Return the value of a name outside all functions, as another file sees it."""
        bound = self.binding_for(name, self.root)
        if bound and not any(conditions_around(bound.node, function_around(bound.node))):
            return self.value(bound.value, depth + 1)
        member = None if bound else self.member(name, self.root, depth)
        return member or unknown(self.root)

    def member_node(self, name: str, at: Tree) -> Tree | None:
        """Return where a member of an object is written out."""
        parts = name.split(".")
        node = None
        path: list[str] = []
        for count in range(len(parts) - 1, 0, -1):
            bound = self.binding_for(".".join(parts[:count]), at)
            if bound:
                node = unwrapped(bound.value)
                path = parts[count:]
                break
        for part in path:
            pairs = pairs_of(node) if node is not None else None
            values = [value for key, value in pairs or [] if key and key_text(key) == part]
            node = unwrapped(values[0]) if len(values) == 1 else None
        return node

    def member(self, name: str, at: Tree, depth: int) -> Setting | None:
        """Return a member of an object that is written out: `config.kafka.acks`."""
        node = self.member_node(name, at)
        return self.value(node, depth + 1) if node is not None and depth < DEEPEST else None

    def of_property(self, text: str, line: int) -> Setting:
        """Return what Spring puts in for `${name:default}`."""
        placeholder = PLACEHOLDER.fullmatch(text)
        given = self.properties.get(placeholder[1]) if placeholder else None
        if not given:
            return substituted_setting(text, line)
        return Setting(given.text, line, given.source, given.known)

    def binding_for(self, name: str, at: Tree) -> Binding | None:
        """Return the only binding of a name that counts at a place: its function's, or a field.

        What another function binds does not, unless it is a field.
        """
        function = function_around(at)
        found = self.bindings.get(name, [])
        local = [
            each
            for each in found
            if function is not None and contains(function, each.node) and each.node.id != at.id
        ]
        is_given = is_parameter(name, function)
        visible = [] if is_given else [each for each in found if is_visible(each, at)]
        outer = [each for each in visible if function_around(each.node) is None]
        chosen = local or outer or visible
        return chosen[0] if len(chosen) == 1 else None

    def argument_for(self, name: str, at: Tree) -> Tree | None:
        """Return what the only call of the function around a place gives for a parameter."""
        function = function_around(at)
        if function is None:
            return None
        names = [each for each, _ in parameters_of(function)]
        called = function_name(function)
        if name not in names or not called:
            return None
        place = names.index(name)
        calls = [
            each for each in self.calls if each.last == called and not contains(function, each.node)
        ]
        if len(calls) != 1 or place >= len(calls[0].arguments):
            return None
        argument = calls[0].arguments[place]
        is_named = argument.type == "value_argument" and argument.named_child_count > 1
        return None if is_named else argument

    def function_called(self, call: Call) -> "tuple[Source, Tree] | None":
        """Return the only function of the project that a call can mean, and its source."""
        named = self.functions.get(call.last, [])
        is_own = call.owner in {"", "this", "self"}
        if len(named) == 1 and is_own:
            return self, named[0]
        place = self.elsewhere(self, call.name.removeprefix("this."))
        functions = place[0].functions.get(place[1], []) if place else []
        return (place[0], functions[0]) if place and len(functions) == 1 else None

    # Maps

    def contents(self, node: Tree, at: Tree, depth: int = 0) -> Contents:
        """Return what a map holds where it is used."""
        node = unwrapped(node)
        pairs = pairs_of(node)
        if pairs is not None:
            return self.of_pairs(pairs, at, depth)
        call = call_of(node)
        if depth > DEEPEST:
            return Contents(opaque=shortened(node))
        if call:
            return self.of_call(call, at, depth + 1)
        name = plain_name(node).removeprefix("this.")
        return self.of_variable(name, node, at, depth + 1) if name else opaque(node)

    def of_pairs(self, pairs: list[tuple[Tree | None, Tree]], at: Tree, depth: int) -> Contents:
        """Return what a literal holds, with its spreads."""
        held = Contents()
        for key, value in pairs:
            if key is None:
                held = held.merged(self.contents(value, at, depth + 1))
            else:
                held = held.merged(self.item(key, value))
        return held

    def item(self, key: Tree, value: Tree) -> Contents:
        """Return one setting; one whose name is unknown may be any."""
        name = self.setting_name(key)
        is_foreign = bool(FOREIGN.search(plain_name(key)) or NAMES_A_CLASS.search(text_of(key)))
        is_foreign = is_foreign or self.is_of_another_library(plain_name(key))
        if not name and is_foreign:
            return Contents()  # for a serializer, for security, or for what has a class's name
        return Contents({name: self.value(value)}) if name else opaque(key)

    def setting_name(self, key: Tree) -> str:
        """Return the setting that a key means."""
        literal = string_of(key)
        if literal is not None:
            return literal
        if key.type in {"property_identifier", "shorthand_property_identifier"}:
            return text_of(key)
        joined = self.joined_name(key)
        if joined:
            return joined
        name = plain_name(key)
        mapped = self.name_of(name.rpartition(".")[2])
        if mapped:
            return mapped
        known = self.value(key)
        return known.text if known.known else ""

    def is_of_another_library(self, name: str) -> bool:
        """Return whether a constant is of an imported class that has none of Kafka's settings."""
        owner, _, constant = name.rpartition(".")
        package = self.imported.get(owner, "")
        is_kafkas = package.startswith(("org.apache.kafka.clients.", "org.apache.kafka.streams."))
        is_constant = constant.isupper() and "." in package
        is_ours = self.elsewhere(self, name) is not None
        return is_constant and not is_kafkas and not is_ours

    def joined_name(self, key: Tree) -> str:
        """Return the name in `PRODUCER_PREFIX + ACKS_CONFIG` and in `producerPrefix(…)`."""
        if key.type in {"binary_expression", "additive_expression"}:
            parts = [self.setting_name(each) for each in key.named_children]
            return "".join(parts) if all(parts) else ""
        call = call_of(key)
        if call and call.last in PREFIXES and len(call.arguments) == 1:
            inner = self.setting_name(unwrapped(call.arguments[0]))
            return PREFIXES[call.last] + inner if inner else ""
        return ""

    def of_call(self, call: Call, at: Tree, depth: int) -> Contents:
        """Return what a call makes: an empty map, a filled one, a copy, what a function returns."""
        if call.last in FILLED_MAPS and call.arguments:
            return self.of_filled(call, at, depth)
        if call.last in SCOPED:
            return self.of_scope(call, at, depth)
        if call.last in COPYING:
            return self.contents(call.node.named_children[0].named_children[0], at, depth)
        if EMPTY_MAPS.fullmatch(call.last):
            held = Contents()
            for argument in call.arguments[:1]:
                is_size = argument.type in {"decimal_integer_literal", "map_type"}
                held = held if is_size else self.contents(argument, at, depth)
            return self.with_changes(held, call.node, "", call.node, depth)
        return self.of_own_function(call, depth)

    def of_own_function(self, call: Call, depth: int) -> Contents:
        """Return what a function of this file returns, or of another one of the project."""
        found = self.function_called(call) if depth < DEEPEST else None
        if not found:
            return opaque(call.node)
        other, function = found
        held = other.of_function(function, depth + 1)
        return held if other is self else at_line(held, line_of(call.node))

    def of_filled(self, call: Call, at: Tree, depth: int) -> Contents:
        """Return what `Map.of(k, v, …)`, `mapOf(k to v)` and `Map.ofEntries(entry(k, v))` hold."""
        arguments = [unwrapped(each) for each in call.arguments]
        pairs: list[tuple[Tree | None, Tree]] = []
        if call.last == "of":
            pairs = list(zip(arguments[::2], arguments[1::2], strict=False))
        for each in arguments if call.last != "of" else []:
            inner = call_of(each)
            if each.type == "infix_expression":
                pairs.append((each.named_children[0], each.named_children[-1]))
            elif inner and len(inner.arguments) == 2:
                pairs.append((unwrapped(inner.arguments[0]), unwrapped(inner.arguments[1])))
            else:
                pairs.append((None, each))
        return self.of_pairs(pairs, at, depth)

    def of_scope(self, call: Call, at: Tree, depth: int) -> Contents:
        """Return what Kotlin's `Properties().apply { … }` holds."""
        whole = call.node.named_children[0].named_children[0]
        held = self.contents(whole, at, depth)
        return self.with_changes(held, call.node, "", call.node, depth)

    def of_function(self, function: Tree, depth: int) -> Contents:
        """Return what the only `return` of a function holds."""
        returns = [each for each in walk(function) if each.type in RETURNS]
        body = function.child_by_field_name("body") or function.named_children[-1]
        if not returns and body.type == "function_body":  # Kotlin's `fun f() = …`
            return self.contents(body.named_children[0], body, depth)
        returned = [each for each in returns if each.named_children]
        if len(returns) != 1 or not returned:
            return opaque(function.child_by_field_name("name") or function)
        [only] = returned
        return self.contents(only.named_children[0], only, depth)

    def of_variable(self, name: str, node: Tree, at: Tree, depth: int) -> Contents:
        """Return what a variable holds after every change before it is used."""
        bound = self.binding_for(name, at)
        if not bound:
            return self.of_member_map(name, node, at, depth)
        held = self.contents(bound.value, bound.node, depth)
        function = function_around(bound.node)
        return self.with_changes(held, function or self.root, name, at, depth)

    def of_member_map(self, name: str, node: Tree, at: Tree, depth: int) -> Contents:
        """Return what a map inside an object holds, or one of another file."""
        given = self.argument_for(name, at)
        inner = given if given is not None else self.member_node(name, at)
        if given is not None and depth < DEEPEST:
            return self.contents(given, given, depth + 1)
        beans = self.functions.get(name, []) if is_parameter(name, function_around(at)) else []
        if len(beans) == 1 and "@Bean" in text_of(beans[0]).partition("{")[0]:
            return self.of_function(beans[0], depth + 1)
        if inner is not None and depth < DEEPEST:
            return self.contents(inner, at, depth + 1)
        place = self.elsewhere(self, name) if depth < DEEPEST else None
        if not place:
            return opaque(node)
        other, there = place
        return at_line(other.of_variable(there, node, other.end, depth + 1), line_of(node))

    @property
    def end(self) -> Tree:
        """Return a node behind everything: the last one, for whoever reads from another file."""
        return self.nodes[-1]

    def with_changes(
        self, held: Contents, inside: Tree, name: str, at: Tree, depth: int
    ) -> Contents:
        """Return a map after every change to it inside a node that comes before a place."""
        for change in walk(inside):
            is_later = change.start_byte >= at.start_byte and not contains(at, change)
            if is_later:
                break
            after = self.after_change(held, change, name, depth)
            if after is None:
                continue
            bodies = conditions_around(change, inside)
            is_sure = all(contains(body, at) for body in bodies)
            held = after if is_sure else held.or_else(after, line_of(change))
        return held

    def after_change(self, held: Contents, node: Tree, name: str, depth: int) -> Contents | None:
        """Return a map after a statement that puts something in; nothing if it does not."""
        owners = {name} if name else {"", "this"}
        item = item_of(node)
        if item and item[0] in owners:
            return held.merged(self.item(item[1], item[2]))
        call = call_of(node)
        if call and call.owner.removeprefix("this.") not in owners:
            return self.after_handing_over(held, call, name, depth)
        return self.after_method(held, call, depth) if call else None

    def after_method(self, held: Contents, call: Call, depth: int) -> Contents | None:
        """Return a map after a call of one of its own methods."""
        node = call.node
        if call.last in LOADING:
            return held.merged(opaque(node))
        if call.last in PUTTING and len(call.arguments) == 2:
            key, value = map(unwrapped, call.arguments)
            return held.merged(self.item(key, value))
        if call.last in MERGING and len(call.arguments) == 1:
            return held.merged(self.contents(call.arguments[0], node, depth))
        return None

    def after_handing_over(
        self, held: Contents, call: Call, name: str, depth: int
    ) -> Contents | None:
        """Return a map after a function was given it, which may put in whatever it likes."""
        given = [plain_name(unwrapped(each)).removeprefix("this.") for each in call.arguments]
        is_creation = call.node.type in CREATIONS
        if not name or name not in given or is_creation or depth > DEEPEST:
            return None
        if call.name == "Object.assign" and given[0] == name:
            for each in call.arguments[1:]:
                held = held.merged(self.contents(each, call.node, depth + 1))
            return held
        found = self.function_called(call)
        names = [each for each, _ in parameters_of(found[1])] if found else []
        place = given.index(name)
        if not found or place >= len(names):
            is_harmless = HARMLESS.search(call.name)
            return None if is_harmless else held.merged(opaque(call.node))
        other, function = found
        end = next(reversed(list(walk(function))))
        after = other.with_changes(held, function, names[place], end, depth + 1)
        return after if other is self else at_line(after, line_of(call.node))


def is_parameter(name: str, function: Tree | None) -> bool:
    """Return whether a name is a parameter of a function, or of one around it."""
    while function is not None:
        if any(each == name.partition(".")[0] for each, _ in parameters_of(function)):
            return True
        function = function_around(function)
    return False


def is_visible(binding: Binding, at: Tree) -> bool:
    """Return whether what one function binds can be seen at a place: around it, or as a field."""
    function = function_around(binding.node)
    if function is None or contains(function, at):
        return True
    return binding.node.type in FIELD_CHANGES


def key_text(key: Tree) -> str:
    """Return the name of a member of an object, with or without quotes."""
    return string_of(key) or text_of(key)


def at_line(held: Contents, line: int) -> Contents:
    """Return what another file holds, at the line that asks for it."""
    settings = {name: replace(each, line=line) for name, each in held.settings.items()}
    return Contents(settings, held.opaque)


def default_beside(node: Tree) -> tuple[Tree, Tree] | None:
    """Return what is asked and the default of `process.env.ACKS || "all"` and `x ?: "all"`."""
    if node.type not in {"binary_expression", "elvis_expression"}:
        return None
    sides = node.named_children
    operators = {each.type for each in node.children if not each.is_named}
    return (sides[0], sides[-1]) if operators & {"||", "??", "?:"} else None


def as_text(literal: object) -> str:
    """Return a value as the clients print it."""
    return str(literal).lower() if isinstance(literal, bool) else str(literal)


def unknown(node: Tree) -> Setting:
    """Return a value that is only known when the program runs."""
    return Setting("", line_of(node), shortened(node), known=False)


def opaque(node: Tree) -> Contents:
    """Return a map that nobody can see here."""
    return Contents(opaque=shortened(node))


def shortened(node: Tree) -> str:
    """Return an expression as it is written, on one line."""
    text = " ".join(text_of(node).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def value_annotation(node: Tree) -> str:
    """Return the text of Spring's `@Value` on a field or a parameter."""
    for modifiers in node.named_children:
        if modifiers.type != "modifiers":
            continue
        for annotation in modifiers.named_children:
            if annotation.type == "annotation" and "Value" in text_of(annotation)[:8]:
                strings = [string_of(each) for each in walk(annotation)]
                return next((each for each in strings if each), "")
    return ""


def changes_to(source: Source, name: str, at: Tree) -> Iterator[Binding]:
    """Yield the fields of a variable that are set in its function before a place."""
    function = function_around(at) or source.root
    for node in walk(function):
        if node.start_byte >= at.start_byte:
            return
        binding = binding_of(node)
        if binding and binding.name.startswith(f"{name}."):
            yield binding
