"""Which messages came before: one contract, and one file for each store that keeps it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import NamedTuple, Protocol

from contract.extras import manifests
from service.logs import exit_with_error
from service.record import Item

# For a store that drops what comes out of sequence: a row for each, in the same transaction.
# Without it, what was dropped would look like what was lost.
NOTE_DROPPED = """,

dropped as (
    insert into dropped (subscriber, topic, partition, "offset", message_id, value_sha256)
    select :subscriber, topic, partition, "offset", message_id, value_sha256
    from item
    left join (select message_id, true as is_fresh from fresh) as fresh using (message_id)
    where is_message and is_fresh is null
    order by topic, partition, "offset"
    on conflict do nothing
)
"""


class Handled(NamedTuple):
    """What is known of a message, whichever worker handled it."""

    value_sha256: str | None  # None: not known, because no row keeps it
    outcome: str | None  # None: not known any more, which happens only long after its audit
    audited: bool
    first: bool  # it was fresh, and has been handled just now


# The business transaction: write.sql, in which the store's SQL says which messages are fresh.
# It is given that SQL, the batch, and values for the parameters that the store's SQL has.
Write = Callable[..., dict[str, Handled]]


class DedupStore(Protocol):
    """One answer to "this message came twice". A batch holds each message id once."""

    needs_sequence: bool  # a record without that header is then a dead letter

    def claim(self, batch: Sequence[Item]) -> dict[str, Handled]:
        """Find the fresh messages, write their effect, and return what is known of each message."""

    def settle(self, batch: Sequence[Item]) -> None:
        """Keep for good that these were handled, if the claim has not done so already."""


@dataclass
class InTransaction:
    """A store beside the business rows: its claim is part of their statement."""

    write: Write
    fresh: str  # common table expressions of write.sql; the last is fresh (message_id)
    needs_sequence: bool = False

    def claim(self, batch: Sequence[Item]) -> dict[str, Handled]:
        """Claim and write the effect in one statement: both happen, or neither."""
        return self.write(self.fresh, batch)

    def settle(self, batch: Sequence[Item]) -> None:
        """Do nothing: the claim is settled already."""


def stores() -> dict[str, str]:
    """Return the module of each store by name: the default, and those of the extras here."""
    modules = {"tracking": "service.dedup.tracking"}
    for section in manifests("dedup").values():
        modules |= section
    return modules


def load_store(name: str) -> ModuleType:
    """Return the module of this store, or end the process with those that there are."""
    modules = stores()
    if name not in modules:
        names = ", ".join(sorted(modules))
        exit_with_error(f"DEDUP_STORE={name}: there is no such store, only {names}")
    return import_module(modules[name])
