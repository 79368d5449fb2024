"""Control: the service without tracking, so that every delivery publishes an event."""

from collections.abc import Sequence
from uuid import uuid4

from sqlalchemy import Engine, text

from service.__main__ import main, wire
from service.consumer import RecordConsumer
from service.dedup import Handled
from service.handler import Steps
from service.record import Item, Message
from service.settings import Settings

PUBLISH = text("""
    insert into outbox (event_id, aggregate_type, aggregate_id, event_type, traceparent, payload)
    select :event_id, aggregate_type, aggregate_id, event_type, traceparent, payload
    from outbox
    where payload->>'message_id' = :message_id and aggregate_type = 'fulfillment'
    limit 1
""")


def untracked(settings: Settings, engine: Engine, consumer: RecordConsumer) -> Steps:
    """Wire the real steps, but publish a message again that was handled before."""
    real = wire(settings, engine, consumer)

    def write(items: Sequence[Item]) -> dict[str, Handled]:
        known = real.write(items)
        repeated = [i for i in items if isinstance(i, Message) and not known[i.message_id].first]
        with engine.connect() as connection:
            for message in repeated:
                event = {"event_id": str(uuid4()), "message_id": message.message_id}
                connection.execute(PUBLISH, event)
        return known

    return real._replace(write=write)


if __name__ == "__main__":
    main(untracked)
