"""Values that come from elsewhere: `${VAR:-default}`, `${file:…}`, `{{ template }}`."""

import re

from pipeline_check.reading.block import Setting, Settings

FILLED_IN = "${FILLED_IN}"  # stands for whatever a template puts in
# ${X:-a} and ${X-a}, and Spring's ${X:a}
WITH_DEFAULT = re.compile(r"\$\{([\w.]+)(?::-|:|-)(?!\?|\+)([^${}]*)\}")
PROVIDER = re.compile(r"\$\{[A-Za-z][\w-]*:(?!-)[^}]*\}")  # ${file:…}, ${secretsManager:…}
VARIABLE_ALONE = re.compile(r"\$\{?([A-Za-z_]\w*)(?:(?::?-|:?\?)[^{}]*)?\}?")
VARIABLE = re.compile(r"\$\{?([A-Z][A-Z0-9_]+)\b")
TEMPLATE = re.compile(r"\{\{\s*(.+?)\s*\}\}")
PLACEHOLDER = re.compile(r"\$\{([\w.]+)[^}]*\}|\$\(([\w.]+)\)|\{\{\s*(.+?)\s*\}\}|@([\w.]+)@")


def connect_setting(text: str, line: int) -> Setting:
    """Read a setting of a worker or connector, where only config providers are resolved."""
    provided = PROVIDER.search(text) or TEMPLATE.search(text)
    if provided:
        return Setting(text, line, provided.group(), known=False)
    variable = VARIABLE.search(text)
    if variable:  # filled in before it is posted: by envsubst, by a shell
        return Setting(text, line, f"the variable {variable[1]}", known=False)
    return Setting(text, line)


def substituted_setting(text: str, line: int) -> Setting:
    """Read a setting where `${…}` is replaced from outside: its default, or else unknown."""
    with_default = WITH_DEFAULT.fullmatch(text)
    if with_default:
        variable, default = with_default.groups()
        return Setting(default, line, f"the variable {variable}, whose default is judged")
    placeholder = PLACEHOLDER.search(text)
    if placeholder:
        name = next(group for group in placeholder.groups() if group)
        return Setting(text, line, f"the variable {name}", known=False)
    return Setting(text, line)


def resolve_providers(settings: Settings) -> Settings:
    """Mark the values that a config provider brings as unknown."""
    return {
        name: connect_setting(each.text, each.line) if each.known else each
        for name, each in settings.items()
    }


def substitute(settings: Settings) -> Settings:
    """Mark the values that are replaced from outside as unknown, or use their defaults."""
    return {
        name: substituted_setting(each.text, each.line) if each.known and not each.source else each
        for name, each in settings.items()
    }
