"""The way to DynamoDB for service, relay and tables, and what they say when it is blocked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from extras.dynamodb.outbox.settings import Settings
from service.logs import exit_with_error

try:
    from botocore.exceptions import BotoCoreError

    from extras.dynamodb import client as dynamodb
except ModuleNotFoundError as missing:
    exit_with_error(f"extras.dynamodb.outbox: {missing}; install it: pip install '.[dynamodb]'")

MAKE_TABLES = "python -m extras.dynamodb.outbox.tables"
WAYS_OUT = {
    "ResourceNotFoundException": f"a table or its stream is gone; `{MAKE_TABLES}` makes them",
    "AccessDeniedException": "the key may not do that; the README says what it needs",
    "UnrecognizedClientException": "AWS_ACCESS_KEY_ID is not known there",
}


class Clients(NamedTuple):
    """A client for tables, and one for their streams."""

    tables: Any
    streams: Any


def connect(settings: Settings) -> Clients:
    """Return the clients, or end the process if it is not even clear where to ask."""
    url, timeout = settings.dynamodb_url, settings.dynamodb_timeout_seconds
    try:
        return Clients(dynamodb.connect(url, timeout), dynamodb.connect_to_streams(url, timeout))
    except (BotoCoreError, ValueError) as error:
        exit_with_error(f"DynamoDB: {error} Set DYNAMODB_URL and AWS_DEFAULT_REGION.")


@contextmanager
def classify_errors() -> Iterator[None]:
    """Raise what passes, or can be put right outside, as an outage."""
    with dynamodb.classify_errors(WAYS_OUT):
        yield
