"""The tables of the outbox: made once, and looked at before the first record."""

from typing import Any

import pytest

from extras.dynamodb.outbox.connection import connect
from extras.dynamodb.outbox.settings import Settings
from extras.dynamodb.outbox.stream import find_stream
from extras.dynamodb.outbox.tables import describe_tables, main, make_table, refuse_tables
from extras.dynamodb.tests.controlled import Controlled
from extras.dynamodb.tests.tallies import Tables
from service.outage import OutageError
from tests.client import fresh

KEY: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def test_they_are_made_once_and_expire(
    dynamodb: Controlled, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second time they are there; all but the tallies have a time at which items go."""
    settings = Tables(dynamodb.url).settings
    prefix = fresh("made")
    names = {}
    for table in describe_tables(settings):
        names[table.setting] = f"{prefix}-{table.setting.lower().replace('_', '-')}"
        monkeypatch.setenv(table.setting, names[table.setting])
    monkeypatch.setattr("sys.argv", ["tables"])
    main()
    main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[2] for line in lines] == ["made"] * 4 + ["is there"] * 4
    expires = {}
    for setting, name in names.items():
        found = dynamodb.client.describe_time_to_live(TableName=name)
        expires[setting] = found["TimeToLiveDescription"].get("AttributeName")
    assert expires.pop("TALLY_TABLE") is None
    assert set(expires.values()) == {"expires_at"}


def refuse(settings: Settings, capsys: pytest.CaptureFixture[str]) -> str:
    """Look at the tables, and return the sentence with which that ends."""
    names = [table.name for table in describe_tables(settings)]
    with pytest.raises(SystemExit) as ended:
        refuse_tables(connect(settings).tables, settings, names)
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.usefixtures("dynamodb")
def test_a_table_that_is_missing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence with the setting and the command that makes it."""
    sentence = refuse(Settings(tally_table="nowhere"), capsys)
    assert sentence.startswith("TALLY_TABLE=nowhere: there is no such table")
    assert "python -m extras.dynamodb.outbox.tables" in sentence


def test_a_table_with_another_key_is_refused(
    tables: Tables, capsys: pytest.CaptureFixture[str]
) -> None:
    """It belongs to somebody else, such as the dedup store."""
    name = fresh("other")
    tables.clients.tables.create_table(TableName=name, **KEY)
    settings = tables.settings.model_copy(update={"tally_claim_table": name})
    assert "its key is id, and not message_id" in refuse(settings, capsys)


def test_an_outbox_without_a_stream_is_refused_and_given_one(
    dynamodb: Controlled, tables: Tables, capsys: pytest.CaptureFixture[str]
) -> None:
    """Made by hand and without one, it would never be published."""
    settings = tables.settings.model_copy(update={"tally_outbox_table": fresh("outbox")})
    [outbox] = [table for table in describe_tables(settings) if table.has_stream]
    make_table(dynamodb.client, outbox._replace(has_stream=False, expires=False))
    assert "it has no stream with new images" in refuse(settings, capsys)
    assert make_table(dynamodb.client, outbox)
    assert find_stream(tables.clients, settings)


def test_claims_need_no_table_where_numbers_decide(dynamodb: Controlled) -> None:
    """Nobody would write to it."""
    settings = Settings(dynamodb_url=dynamodb.url, dynamodb_dedup="number")
    assert "TALLY_CLAIM_TABLE" not in {table.setting for table in describe_tables(settings)}


def test_a_server_that_is_away_is_an_outage(dynamodb: Controlled) -> None:
    """It is waited out: that nobody answers says nothing about the tables."""
    settings = Settings(dynamodb_url="http://127.0.0.1:9", dynamodb_timeout_seconds=1)
    with pytest.raises(OutageError, match="DYNAMODB_URL"):
        refuse_tables(connect(settings).tables, settings, [settings.tally_table])
