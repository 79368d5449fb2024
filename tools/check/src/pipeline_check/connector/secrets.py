"""Secrets: none may be in a connector, whose settings every reader of Connect's REST API sees."""

import re
from collections.abc import Iterator

from pipeline_check.connector.outbox import Outbox
from pipeline_check.connector.surroundings import split_names
from pipeline_check.rules.finding import Finding

SECRET = re.compile(
    r"(^|\.)(password|secret|sasl\.jaas\.config|token|ssl\.key\.password)$|password$|secret$"
)
REFERENCE = re.compile(r"\$\{(\w+):(?:([^}:]*):)?[^}]*\}")


def secrets(outbox: Outbox) -> Iterator[Finding]:
    """Check that every secret is a reference, to a provider and a place that the worker allows."""
    for key, setting in outbox.block.settings.items():
        if not SECRET.search(key):
            continue
        reference = REFERENCE.search(setting.text)
        if reference:
            provider, path = reference.groups()
            yield from reference_resolves(outbox, key, provider, path or "")
        elif setting.known and setting.text:
            yield outbox.error(
                "secret-in-clear",
                key,
                f"{key} is in clear: everyone who may ask Connect for its settings can read it",
                f'"{key}": "${{dir:/run/secrets:{key.replace(".", "_")}}}"',
            )


def reference_resolves(outbox: Outbox, key: str, provider: str, path: str) -> Iterator[Finding]:
    """Check that Connect can resolve a reference; otherwise its text is used as the password."""
    providers = outbox.worker("config.providers")
    if providers is None:
        return
    setting = f"config.providers.{provider}.param.allowed.paths"
    allowed = split_names(outbox.worker(setting))
    if provider not in split_names(providers):
        yield outbox.error(
            "secret-provider",
            key,
            f"{key} asks provider {provider}, which the worker does not have: it goes on with the "
            "unresolved text as the password",
            f"config.providers={provider}",
        )
    elif path and not allowed:
        yield outbox.warning(
            "secret-any-path",
            key,
            f"provider {provider} may read any file of the worker: everyone who may create "
            "connectors can read /etc too",
            f"{setting}={path}",
        )
    elif path and not is_inside(path, allowed):
        yield outbox.error(
            "secret-path",
            key,
            f"{key} reads {path}, and the worker allows {', '.join(allowed)}: it goes on with the "
            "unresolved text",
            f"{setting}={path}",
        )


def is_inside(path: str, allowed: list[str]) -> bool:
    """Return whether a path is one of the allowed ones, or below one."""
    return any(path == one or path.startswith(f"{one.rstrip('/')}/") for one in allowed)
