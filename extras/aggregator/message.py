"""The contract of batch.events: an item of a batch, its completion, or words for why a record is neither."""

from hashlib import sha256
from typing import Annotated, Any, NamedTuple

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from contract.order import VALUE_LIMIT
from contract.strict_json import DECODER, describe
from service.record import DeadLetter, Record


class Item(TypedDict):
    """So many units, for so much; unknown fields have been left out."""

    units: Annotated[int, Field(ge=0, le=1_000_000_000)]
    amount: Annotated[
        str, StringConstraints(max_length=20, pattern=r"^[0-9]{1,17}(\.[0-9]{1,2})?$")
    ]  # a price


ITEM = TypeAdapter(Item)


class Message(NamedTuple):
    """One message of a batch; two with the same id, key and value are the same message."""

    record: Record
    batch_id: str
    message_id: str
    sha256: str
    item: Item | None  # nothing: the completion


def read(record: Record) -> Message | DeadLetter:
    """The message in a record, or a dead letter that says why there is none."""
    if len(record.value or b"") > VALUE_LIMIT:
        return DeadLetter(
            record, "too_large", f"value: {len(record.value or b'')} bytes, at most {VALUE_LIMIT}"
        )
    try:
        return understand(record)
    except (ValueError, RecursionError) as error:
        return DeadLetter(record, "invalid", why(error))


def understand(record: Record) -> Message:
    """The message in a record, or an error whose text names the field."""
    if record.value is None:
        raise ValueError("null (a tombstone)")
    ids = record.header_values("message_id")
    if len(ids) != 1:
        raise WrongError(
            f"headers.message_id: given {len(ids)} times" if ids else "headers.message_id: missing"
        )
    batch_id, message_id = name("key", record.key or b""), name("headers.message_id", ids[0])
    digest = sha256(
        b"%d/%b" % (len(batch_id.encode()), batch_id.encode() + record.value)
    ).hexdigest()
    return Message(record, batch_id, message_id, digest, parse(record.value))


def parse(value: bytes) -> Item | None:
    """The item in these bytes, or nothing for a completion."""
    fields: Any = DECODER.decode(value.decode())
    if not isinstance(fields, dict) or "complete" not in fields:
        return ITEM.validate_python(fields, strict=True)
    if fields.keys() & Item.__annotations__.keys():
        raise WrongError(
            "complete: stands beside units or amount: nobody can say whether they count"
        )
    if fields["complete"] is not True:
        raise WrongError("complete: should be true")
    return None


def name(field: str, raw: bytes) -> str:
    """An id that people can read; bytes that are not UTF-8 are not printable."""
    text = raw.decode(errors="surrogateescape")
    if not (1 <= len(text) <= 64 and text.isprintable()):
        raise WrongError(f"{field}: should be 1 to 64 printable characters, in UTF-8")
    return text


class WrongError(ValueError):
    """Not a message of a batch; the text names the field."""


def why(error: ValueError | RecursionError) -> str:
    """The first thing that is wrong, with the field's name."""
    match error:
        case WrongError():
            return str(error)
        case ValidationError():
            return describe(error)
        case UnicodeDecodeError():
            return f"value: not UTF-8 at byte {error.start}"
        case RecursionError():
            return "value: nested too deep"
    return f"value: {error}"
