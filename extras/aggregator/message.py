"""The contract of the input: an item of a group, its completion, or a reason to be neither."""

from hashlib import sha256
from typing import Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from contract.order import VALUE_LIMIT
from contract.strict_json import DECODER, Amount, describe
from service.record import DeadLetter, Record


class Item(TypedDict):
    """A number of units and their price; unknown fields have been left out."""

    units: Annotated[int, Field(ge=0, le=1_000_000_000)]
    amount: Amount


ITEM = TypeAdapter(Item)


class Message(NamedTuple):
    """One message of a group; two with the same id, key and value are the same message."""

    record: Record
    batch_id: str
    message_id: str
    sha256: str
    item: Item | None  # None: the completion


class InvalidMessageError(ValueError):
    """A record is no message of a group; the text names the field."""


def read(record: Record) -> Message | DeadLetter:
    """Return the message in a record, or a dead letter that says why there is none."""
    length = len(record.value or b"")
    if length > VALUE_LIMIT:
        reason = f"value: {length} bytes, at most {VALUE_LIMIT}"
        return DeadLetter(record, "too_large", reason)
    try:
        return understand(record)
    except (ValueError, RecursionError) as error:
        return DeadLetter(record, "invalid", reason_of(error))


def understand(record: Record) -> Message:
    """Return the message in a record, or raise an error whose text names the field."""
    if record.value is None:
        raise InvalidMessageError("value: null (a tombstone)")
    ids = record.header_values("message_id")
    if not ids:
        raise InvalidMessageError("headers.message_id: missing")
    if len(ids) > 1:
        raise InvalidMessageError(f"headers.message_id: given {len(ids)} times")
    batch_id = parse_id("key", record.key or b"")
    message_id = parse_id("headers.message_id", ids[0])
    key = batch_id.encode()
    content = b"%d/%b" % (len(key), key + record.value)
    digest = sha256(content).hexdigest()
    item = parse_value(record.value)
    return Message(record, batch_id, message_id, digest, item)


def parse_value(value: bytes) -> Item | None:
    """Return the item in these bytes, or nothing for a completion."""
    fields: Any = DECODER.decode(value.decode())
    is_completion = isinstance(fields, dict) and "complete" in fields
    if not is_completion:
        return ITEM.validate_python(fields, strict=True)
    also_an_item = fields.keys() & Item.__annotations__.keys()
    if also_an_item:
        raise InvalidMessageError(
            "complete: must not come with units or amount: nothing says whether they count"
        )
    if fields["complete"] is not True:
        raise InvalidMessageError("complete: should be true")
    return None


def parse_id(field: str, raw: bytes) -> str:
    """Return an id that people can read; bytes that are not UTF-8 are not printable."""
    text = raw.decode(errors="surrogateescape")
    has_good_length = 1 <= len(text) <= 64
    if not has_good_length or not text.isprintable():
        raise InvalidMessageError(f"{field}: should be 1 to 64 printable characters, in UTF-8")
    return text


def reason_of(error: ValueError | RecursionError) -> str:
    """Return the first thing that is wrong, with the field's name."""
    if isinstance(error, InvalidMessageError):
        return str(error)
    return describe(error)
