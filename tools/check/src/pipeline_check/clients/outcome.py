"""What a client makes of its settings: refused, or changed here and there, and in the end idempotent or not."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Remark:
    """One thing that the client does, and the settings that make it do so, the decisive one first."""

    keys: tuple[str, ...]
    says: str


@dataclass
class Outcome:
    """Everything that follows from one set of settings."""

    idempotent: bool = False
    effective: dict[str, str] = field(default_factory=dict)
    refusals: list[Remark] = field(default_factory=list)
    changes: list[Remark] = field(
        default_factory=list
    )  # done without an error, whatever the log may say
    unknown: list[str] = field(
        default_factory=list
    )  # names that the client does not have, and ignores
    because: str = ""  # why it is not idempotent, when it is not
    culprit: str = ""  # the setting that made it so, if it was not the switch itself
    never_sends: str = ""  # why it starts and can never deliver a record, when that is so

    def refuse(self, says: str, *keys: str) -> None:
        """Note why the client does not start."""
        self.refusals.append(Remark(keys, says))

    def change(self, says: str, *keys: str) -> None:
        """Note what the client changes by itself."""
        self.changes.append(Remark(keys, says))

    def effective_of_changes(self) -> dict[str, str]:
        """The settings that were changed, as they become: written so, nothing is silent any more."""
        names = [each.keys[0] for each in self.changes]
        return {name: text for name, text in self.effective.items() if name in names}

    @property
    def verdict(self) -> Literal["idempotent", "not_idempotent", "refused"]:
        """The verdict, where every setting is known."""
        return "refused" if self.refusals else "idempotent" if self.idempotent else "not_idempotent"
