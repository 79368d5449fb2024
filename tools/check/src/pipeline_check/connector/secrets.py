"""Secrets: none stands in a connector, whose configuration every reader of Connect's REST address can see."""

import re
from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.patterns import names
from pipeline_check.rules.finding import Finding, Severity

SECRET = re.compile(
    r"(^|\.)(password|secret|sasl\.jaas\.config|token|ssl\.key\.password)$|password$|secret$"
)
REFERENCE = re.compile(r"\$\{(\w+):(?:([^}:]*):)?[^}]*\}")
PATHS = {"dir", "file", "directory"}


def secrets(outbox: Outbox) -> Iterator[Finding]:
    """Every secret is a reference, to a provider and a place that the worker allows."""
    for key, setting in outbox.block.settings.items():
        found = REFERENCE.search(setting.text)
        if SECRET.search(key) and setting.known and setting.text and not found:
            message = (
                f"{key} stands in clear: whoever may ask Connect for the configuration reads it"
            )
            fix = f'"{key}": "${{dir:/run/secrets:{key.replace(".", "_")}}}"'
            yield outbox.finding("secret-in-clear", Severity.ERROR, key, message, fix)
        elif SECRET.search(key) and found:
            yield from resolvable(outbox, key, found[1], found[2] or "")


def resolvable(outbox: Outbox, key: str, provider: str, path: str) -> Iterator[Finding]:
    """What Connect cannot resolve is no error there: the text itself is then the password."""
    providers = outbox.worker("config.providers")
    allowed = names(outbox.worker(f"config.providers.{provider}.param.allowed.paths"))
    if providers is None:
        return
    if provider not in names(providers):
        message = f"{key} asks provider {provider}, which the worker does not have: "
        message += "it goes on with the unresolved text as the password"
        yield outbox.finding(
            "secret-provider", Severity.ERROR, key, message, f"config.providers={provider}"
        )
    elif (
        path
        and allowed
        and not any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in allowed)
    ):
        message = f"{key} reads {path}, and the worker allows {', '.join(allowed)}: it goes on with the unresolved text"
        fix = f"config.providers.{provider}.param.allowed.paths={path}"
        yield outbox.finding("secret-path", Severity.ERROR, key, message, fix)
    elif path and not allowed:
        message = f"provider {provider} may read any file of the worker: whoever may make connectors can read /etc too"
        fix = f"config.providers.{provider}.param.allowed.paths={path}"
        yield outbox.finding("secret-any-path", Severity.WARNING, key, message, fix)
