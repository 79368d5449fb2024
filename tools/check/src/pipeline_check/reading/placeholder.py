"""Values that come from elsewhere: `${VAR:-default}`, `${file:…}`, `{{ template }}`, and where from, in words."""

import re

from pipeline_check.reading.block import Setting

WHOLE_DEFAULT = re.compile(
    r"\$\{([\w.]+)(?::-|:|-)(?!\?|\+)([^${}]*)\}"
)  # ${X:-a}, ${X-a}; Spring's ${X:a}
PROVIDER = re.compile(
    r"\$\{(file|dir|env|vault|secrets?|configmaps?|directory|[\w-]*provider):[^}]*\}"
)
PLACEHOLDER = re.compile(r"\$\{([\w.]+)[^}]*\}|\$\(([\w.]+)\)|\{\{\s*(.+?)\s*\}\}|@([\w.]+)@")


def connect_setting(text: str, line: int) -> Setting:
    """A setting of a worker or connector: only config providers are resolved there."""
    provided = PROVIDER.search(text) or re.search(r"\{\{\s*(.+?)\s*\}\}", text)
    return Setting(text, line, provided.group(), known=False) if provided else Setting(text, line)


def substituted(text: str, line: int) -> Setting:
    """A setting where `${…}` is replaced from outside: its default if it has one, else unknown."""
    if defaulted := WHOLE_DEFAULT.fullmatch(text):
        return Setting(defaulted[2], line, f"the variable {defaulted[1]}, whose default is judged")
    if placeholder := PLACEHOLDER.search(text):
        name = next(group for group in placeholder.groups() if group)
        return Setting(text, line, f"the variable {name}", known=False)
    return Setting(text, line)
