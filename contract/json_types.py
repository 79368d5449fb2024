"""SQL types of an event's columns as JSON Schema: how the same values stand in its body."""

from typing import Any

Json = dict[str, Any]

TEXT = ("string", "timestamp", "decimal")  # a number with places is text: JSON's would be rounded
WHOLE = ("int", "bigint")


def to_schema(text: str) -> Json:
    """Return the schema of a type such as array<struct<sku: string, quantity: int>>."""
    kind, inner = split(text)
    if kind == "struct":
        fields = dict(split_field(one) for one in split_list(inner))
        properties = {name: to_schema(type_) for name, type_ in fields.items()}
        return {"type": "object", "properties": properties, "required": list(fields)}
    if kind == "array":
        return {"type": "array", "items": to_schema(inner)}
    if kind == "boolean":
        return {"type": "boolean"}
    if kind in WHOLE:
        return {"type": "integer"}
    if kind in TEXT:
        return {"type": "string"}
    raise ValueError(f"{text.strip()} is no type that an event's column may have")


def split(text: str) -> tuple[str, str]:
    """Return the name of a type, and what stands in its brackets."""
    text = text.strip()
    name, bracket, rest = text.partition("<")
    if bracket:
        return name.strip(), rest.removesuffix(">")
    name, _, _ = text.partition("(")
    return name.strip(), ""


def split_field(text: str) -> tuple[str, str]:
    """Return the name and the type of a field, with or without a colon between them."""
    name, _, type_ = text.strip().replace(":", " ", 1).partition(" ")
    return name, type_


def split_list(text: str) -> list[str]:
    """Return what commas separate, apart from those within brackets."""
    parts = [""]
    depth = 0
    for letter in text:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]
