"""Make the tables of extras.dynamodb.outbox, unless they are there."""

import argparse
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from extras.dynamodb.outbox.connection import MAKE_TABLES, classify_errors, connect
from extras.dynamodb.outbox.settings import Settings, load_settings
from service.logs import exit_with_error
from service.outage import OutageError

TABLE_SECONDS = 30.0  # no consumer has to poll while a table is made
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
EXPIRY = {"Enabled": True, "AttributeName": "expires_at"}


class Table(NamedTuple):
    """A table as it has to be."""

    setting: str
    name: str
    key: tuple[str, ...]
    has_stream: bool = False
    expires: bool = True


def describe_tables(settings: Settings) -> list[Table]:
    """Return the tables that service and relay need; a claim is not needed where numbers decide."""
    tables = [
        Table("TALLY_TABLE", settings.tally_table, ("id",), expires=False),
        Table(
            "TALLY_OUTBOX_TABLE",
            settings.tally_outbox_table,
            ("aggregate_id", "event_id"),
            has_stream=True,
        ),
        Table("TALLY_SHARD_TABLE", settings.tally_shard_table, ("id",)),
    ]
    if not settings.is_numbered:
        tables.append(Table("TALLY_CLAIM_TABLE", settings.tally_claim_table, ("message_id",)))
    return tables


def make_table(client: Any, table: Table) -> bool:
    """Make a table, and return whether it was missing; an outbox without a stream gets one."""
    with classify_errors(), suppress(client.exceptions.ResourceInUseException):
        client.create_table(**definition(table))
        client.get_waiter("table_exists").wait(TableName=table.name)
        if table.expires:
            client.update_time_to_live(TableName=table.name, TimeToLiveSpecification=EXPIRY)
        return True
    problem = find_problem(client, table)
    if problem == NO_STREAM:
        with classify_errors():
            client.update_table(TableName=table.name, StreamSpecification=STREAM)
        return True
    if problem:
        exit_with_error(f"{table.setting}={table.name}: {problem}")
    return False


def definition(table: Table) -> dict[str, Any]:
    """Return what DynamoDB is asked to make."""
    kinds = ("HASH", "RANGE")
    found: dict[str, Any] = {
        "TableName": table.name,
        "KeySchema": [
            {"AttributeName": name, "KeyType": kind}
            for name, kind in zip(table.key, kinds, strict=False)
        ],
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"} for name in table.key
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
    if table.has_stream:
        found["StreamSpecification"] = STREAM
    return found


NO_STREAM = f"it has no stream with new images; `{MAKE_TABLES}` gives it one"


def find_problem(client: Any, table: Table) -> str:
    """Return what is wrong with a table, or nothing."""
    with classify_errors():
        try:
            found = client.describe_table(TableName=table.name)["Table"]
        except client.exceptions.ResourceNotFoundException:
            return f"there is no such table; `{MAKE_TABLES}` makes it"
    key = tuple(part["AttributeName"] for part in found["KeySchema"])
    if key != table.key:
        return f"its key is {', '.join(key)}, and not {', '.join(table.key)}: give another name"
    images = found.get("StreamSpecification", {}).get("StreamViewType", "")
    if table.has_stream and not images.startswith("NEW"):
        return NO_STREAM
    return ""


def refuse_tables(client: Any, settings: Settings, names: Sequence[str]) -> None:
    """End the process if one of these tables is missing or is not as it has to be."""
    for table in describe_tables(settings):
        if table.name not in names:
            continue
        problem = find_problem(client, table)
        if problem:
            exit_with_error(f"{table.setting}={table.name}: {problem}")


def main() -> None:
    """Make what is missing, and say what that was."""
    parser = argparse.ArgumentParser(prog=MAKE_TABLES, description=__doc__)
    parser.parse_args()
    settings = load_settings()
    patient = settings.model_copy(update={"dynamodb_timeout_seconds": TABLE_SECONDS})
    client = connect(patient).tables
    for table in describe_tables(settings):
        try:
            is_new = make_table(client, table)
        except OutageError as outage:
            exit_with_error(f"{table.setting}={table.name} was not made: {outage}")
        print(f"{table.name}: {'made' if is_new else 'is there'}")  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
