"""`pipeline-check --duplicates`: read a topic once, and tell what is in it twice."""

import json
import sys
from pathlib import Path

from pipeline_check.duplicates.count import Repeats
from pipeline_check.duplicates.identity import UnknownIdentityError, identity
from pipeline_check.duplicates.read import (
    CannotReadError,
    client_settings,
    read_topic,
    seconds_of,
)
from pipeline_check.duplicates.report import as_json, as_lines


def tell_duplicates(  # noqa: PLR0913 - what was asked for
    bootstrap: str,
    topic: str,
    *,
    id_text: str,
    since: str,
    config: Path | None,
    form: str,
) -> int:
    """Print how many records of a topic repeat another; return 1 if any does, 2 if unreadable."""
    try:
        if not bootstrap or not topic:
            raise CannotReadError("--duplicates needs --bootstrap and --topic")
        repeats = Repeats(identity(id_text))
        settings = client_settings(bootstrap, config)
        from_when = seconds_of(since) if since else None
        for record in read_topic(settings, topic, from_when, tell):
            repeats.add(record)
    except (CannotReadError, UnknownIdentityError, OSError) as failure:
        print(f"pipeline check: {failure}", file=sys.stderr)
        return 2
    if form == "json":
        print(json.dumps(as_json(topic, repeats), indent=2))
    else:
        print("\n".join(as_lines(topic, repeats)))
    return 1 if repeats.total else 0


def tell(text: str) -> None:
    """Say how far it is, where only a person sees it."""
    if sys.stderr.isatty():
        print(f"  {text}", file=sys.stderr)
