"""Which messages came before: one contract, one file for each answer to it, one setting that chooses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import NamedTuple, Protocol

from contract.extras import manifests
from service.record import Item


class Handled(NamedTuple):
    """What is known of a message, whoever handled it."""

    value_sha256: str
    fulfilled: bool  # or else rejected
    audited: bool
    first: bool  # it was fresh, and has been handled just now


# The business transaction: in its statement the store's SQL says which messages are fresh; any more is bound to it.
Write = Callable[..., dict[str, Handled]]


class DedupStore(Protocol):
    """One answer to "this message came twice". A batch holds each message id once."""

    needs_sequence: bool  # a record without the header is then a dead letter

    def claim(self, batch: Sequence[Item]) -> dict[str, Handled]:
        """Find the fresh messages, give them their effect, and return what is now known of each message."""

    def settle(self, batch: Sequence[Item]) -> None:
        """Keep for good that these were handled, if the claim has not done it already."""


@dataclass
class InTransaction:
    """A store beside the business rows: its claim is a part of their statement, and there is nothing to settle."""

    write: Write
    fresh: str  # common table expressions over the rows of item; the last is fresh, with the message_id of each
    needs_sequence: bool = False

    def claim(self, batch: Sequence[Item]) -> dict[str, Handled]:
        """Claim and effect are one statement: both happen, or neither."""
        return self.write(self.fresh, batch)

    def settle(self, batch: Sequence[Item]) -> None:
        """Nothing is left to do."""


def stores() -> dict[str, str]:
    """Return the module of each store by its name: the default, and those of the extras that are here."""
    found = {"tracking": "service.dedup.tracking"}
    for named in manifests("dedup").values():
        found |= named
    return found


def load_store(name: str) -> ModuleType:
    """Return the module of this store."""
    known = stores()
    if name not in known:
        raise SystemExit(
            f"DEDUP_STORE={name}: there is no such store, only {', '.join(sorted(known))}"
        )
    return import_module(known[name])
