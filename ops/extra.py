"""What an extra adds to the embedded stack: the section [stack] of its manifest."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from contract.extras import FOLDER, manifests

Value = bool | int | str


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

    def wanted(self, values: Mapping[str, Value], dedup_store: str) -> bool:
        """Return whether the stack with these settings starts the process."""
        return bool(values[self.switch]) or dedup_store in self.dedup_stores

    def shared_environment(self, values: Mapping[str, Value]) -> dict[str, str]:
        """Return what every other process must know of this one."""
        port = values[self.port]
        return {name: text.format(port=port) for name, text in self.shared.items()}


def extra_processes(folder: Path = FOLDER) -> dict[str, ExtraProcess]:
    """Return the process of every extra that has one, by the name of the extra."""
    stores = manifests("dedup", folder)
    processes = {}
    for name, section in manifests("stack", folder).items():
        own_stores = frozenset(stores.get(name, {}))
        processes[name] = ExtraProcess(folder=folder / name, dedup_stores=own_stores, **section)
    return processes


def read_extra_settings(
    given: Mapping[str, Value], environment: Mapping[str, str | None]
) -> dict[str, Value]:
    """Return every setting that extras declare: as given, from the environment, or its default."""
    values: dict[str, Value] = {}
    for process in extra_processes().values():
        for name, default in process.settings.items():
            value = given.get(name, environment.get(name))
            values[name] = default if value is None else parse_setting(name, value, default)
    unknown = sorted(given.keys() - values.keys())
    if unknown:
        raise ValueError(f"no extra that is here has a setting {', '.join(unknown)}")
    return values


def parse_setting(name: str, value: Value, default: Value) -> Value:
    """Return the value in the type of the default."""
    kind = type(default)
    try:
        parsed: Value = TypeAdapter(kind).validate_python(value)
    except ValidationError:
        raise ValueError(f"{name}={value} is no {kind.__name__}") from None
    return parsed
