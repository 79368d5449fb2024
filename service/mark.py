"""The mark: once the receiver has answered, a redelivery need not ask it again."""

import json

from sqlalchemy import Engine, text

from service.database import sorted_errors
from service.post import Answers

MARK = text("""
    update tracking t
    set audited_at = case when a.error is null then now() end, audit_error = a.error
    from json_to_recordset(cast(:answers as json)) as a (message_id text, error text)
    where t.subscriber = :subscriber and t.message_id = a.message_id
""")


def mark(engine: Engine, subscriber: str, answers: Answers) -> None:
    """One statement and one commit for the whole batch."""
    rows = [{"message_id": message_id, "error": error} for message_id, error in answers.items()]
    with sorted_errors(), engine.connect() as connection:
        connection.execute(MARK, {"subscriber": subscriber, "answers": json.dumps(rows)})
