"""What a dictionary in a Python source is known to hold."""

from dataclasses import dataclass, field

from pipeline_check.reading.block import Setting


@dataclass(frozen=True)
class Held:
    """Settings, and where more may come from that cannot be seen."""

    settings: dict[str, Setting] = field(default_factory=dict)
    opaque: str = ""

    def merged(self, other: "Held") -> "Held":
        """With another on top; what cannot be seen may change everything that was there before."""
        mine = self.settings
        if other.opaque:
            mine = {
                name: Setting(each.text, each.line, other.opaque, known=False)
                for name, each in mine.items()
            }
        return Held({**mine, **other.settings}, other.opaque or self.opaque)

    def under_condition(self, line: int) -> "Held":
        """The same, where nobody knows whether it happens."""
        why = f"line {line}, which runs under a condition"
        settings = {
            name: Setting(each.text, each.line, why, known=False)
            for name, each in self.settings.items()
        }
        return Held(settings, self.opaque and why)
