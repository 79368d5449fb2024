"""The way to DynamoDB: a client that gives up soon, and what its errors mean."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from service.outage import OutageError

# Of these only the caller knows what they mean.
LEFT_TO_THE_CALLER = {
    "ConditionalCheckFailedException",
    "TransactionCanceledException",
    "ValidationException",
}


@contextmanager
def classify_errors(ways_out: Mapping[str, str]) -> Iterator[None]:
    """Raise what passes, or can be put right outside, as an outage; anything else is a defect."""
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in LEFT_TO_THE_CALLER:
            raise
        way_out = ways_out.get(code, error.response["Error"]["Message"])
        raise OutageError(f"DynamoDB: {code}: {way_out}") from error
    except BotoCoreError as error:
        raise OutageError(f"DynamoDB (DYNAMODB_URL): {error}") from error


def connect(url: str | None, timeout_seconds: float) -> Any:
    """Return a client that gives up soon, because the consumer has to poll in the meantime."""
    config = make_config(timeout_seconds)
    return boto3.resource("dynamodb", endpoint_url=url, config=config).meta.client


def connect_to_streams(url: str | None, timeout_seconds: float) -> Any:
    """Return a client for the streams of tables."""
    config = make_config(timeout_seconds)
    return boto3.client("dynamodbstreams", endpoint_url=url, config=config)


def make_config(timeout_seconds: float) -> Config:
    """Return what a client waits for at most; whoever calls repeats what is worth repeating."""
    return Config(
        connect_timeout=timeout_seconds,
        read_timeout=timeout_seconds,
        retries={"total_max_attempts": 1},
    )
