"""What a client makes of its settings: refused, changed here and there, idempotent or not."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Remark:
    """One thing that the client does, and the settings that cause it, the decisive one first."""

    keys: tuple[str, ...]
    says: str
    good: str = ""  # a value for the decisive setting, where the usual one would not help
    way_out: str = ""  # what to do about it, where no setting helps


@dataclass
class Outcome:
    """Everything that follows from one set of settings."""

    idempotent: bool = False
    effective: dict[str, str] = field(default_factory=dict)
    refusals: list[Remark] = field(default_factory=list)
    changes: list[Remark] = field(default_factory=list)  # without an error, maybe with a log line
    unknown: list[str] = field(default_factory=list)  # names that the client ignores
    because: str = ""  # why it is not idempotent, when it is not
    culprit: str = ""  # the setting that made it so, if it was not the switch itself
    way_out: str = ""  # what to do about it, where no setting helps
    never_sends: str = ""  # why it starts and can never deliver a record, when that is so

    def refuse(self, says: str, *keys: str, good: str = "", way_out: str = "") -> None:
        """Note why the client does not start."""
        self.refusals.append(Remark(keys, says, good, way_out))

    def change(self, says: str, *keys: str) -> None:
        """Note what the client changes by itself."""
        self.changes.append(Remark(keys, says))

    def effective_of_changes(self) -> dict[str, str]:
        """Return the changed settings as they become; once they are written, nothing is silent."""
        names = [each.keys[0] for each in self.changes]
        return {name: text for name, text in self.effective.items() if name in names}

    @property
    def verdict(self) -> Literal["idempotent", "not_idempotent", "refused"]:
        """Return the verdict, where every setting is known."""
        if self.refusals:
            return "refused"
        return "idempotent" if self.idempotent else "not_idempotent"
