"""What an extra adds to the embedded stack: the section [stack] of its manifest."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from contract.extras import FOLDER, manifests

Value = bool | int | str
Values = Mapping[str, Value]  # of settings, by their names


class ExtraProcess(BaseModel):
    """One more process of the embedded stack.

    `settings` declares the names and defaults of what a user may change; they are read as the
    stack's own settings are. In `command`, {port}, {data} and {jars} are filled in.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: Path
    dedup_stores: frozenset[str]  # the process runs too when one of them is chosen
    settings: dict[str, Value]
    switch: str  # the setting that starts it
    port: str  # the setting that says where it listens
    command: list[str]  # words for Python
    ready_path: str = "/readyz"
    ready_status: int = 200
    environment: dict[str, str] = {}  # for the process itself
    shared: dict[str, str] = {}  # for every other process, and for .run/env
    then: dict[str, list[str]] = {}  # one-shots, once it is ready
    pom: str | None = None

    def wanted(self, values: Values, dedup_store: str) -> bool:
        """Return whether the stack with these settings starts the process."""
        is_switched_on = bool(values[self.switch])
        is_needed = dedup_store in self.dedup_stores
        return is_switched_on or is_needed

    def shared_environment(self, values: Values) -> dict[str, str]:
        """Return what every other process must know of this one."""
        port = values[self.port]
        filled = {}
        for name, text in self.shared.items():
            filled[name] = text.format(port=port)
        return filled


def extra_processes(folder: Path = FOLDER) -> dict[str, ExtraProcess]:
    """Return the process of every extra that has one, by the name of the extra."""
    stores = manifests("dedup", folder)
    sections = manifests("stack", folder)
    processes = {}
    for name, section in sections.items():
        own_stores = stores.get(name, {})
        processes[name] = ExtraProcess(
            folder=folder / name,
            dedup_stores=frozenset(own_stores),
            **section,
        )
    return processes


def read_extra_settings(
    given: Values,
    environment: Mapping[str, str | None],
) -> dict[str, Value]:
    """Return every setting that extras declare: as given, from the environment, or its default."""
    values: dict[str, Value] = {}
    for process in extra_processes().values():
        for name, default in process.settings.items():
            value = given.get(name, environment.get(name))
            if value is None:
                values[name] = default
            else:
                values[name] = parse_setting(name, value, default)
    unknown = given.keys() - values.keys()
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ValueError(f"no extra that is here has a setting {names}")
    return values


def parse_setting(name: str, value: Value, default: Value) -> Value:
    """Return the value in the type of the default."""
    kind = type(default)
    try:
        adapter = TypeAdapter(kind)
        parsed: Value = adapter.validate_python(value)
    except ValidationError:
        expected = kind.__name__
        raise ValueError(f"{name}={value} is no {expected}") from None
    return parsed
