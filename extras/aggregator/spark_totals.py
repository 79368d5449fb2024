"""The totals of batches as Spark sums them from the landed table, beside those that were published."""

from spark import hops, settings, snapshot

# May be deleted, with extras/aggregator/ and its migration: what knows of it is here, and at the end it adds itself.
INPUTS = ("batch.events",)
TOPICS = (*INPUTS, "batch-total.events")

# What Postgres knows of batches, at the moment of the snapshot: how far each partition is summed, which groups are
# open, what was published, and what was buried. A completion of nothing is buried too, but read: it closes nothing.
TABLES = {
    "batch": """select 'position' as kind, concat_ws('/', topic, partition) as place, "offset", null as event_id,
            null as facts from batch_position where topic = 'batch.events'
        union all select 'open', concat_ws('/', topic, partition, "offset"), null, null, null from open_batch
        union all select 'buried', concat_ws('/', topic, partition, "offset"), null, null, null from dead_letter
            where topic = 'batch.events' and reason <> 'complete: no batch of this key is open'
        union all select event_type, concat_ws('/', payload->'begin'->>'topic', payload->'begin'->>'partition',
            payload->'begin'->>'offset'), null, event_id::text, concat_ws(' ', aggregate_id, payload->>'items',
            payload->>'units', payload->>'amount') from outbox
            where aggregate_type = 'batch-total' and payload->'begin'->>'topic' = 'batch.events'"""
}

# A message counts where its id comes first. A group ends with a completion, and the next message begins another.
# What is not summed yet is not judged, nor what waits for its replay, nor a group that is still open.
DERIVED = {
    "batch_sum": """with message as (
            select landed.partition, landed.offset, key, message_id,
                coalesce(get_json_object(value, '$.complete') = 'true', false) as complete,
                cast(get_json_object(value, '$.units') as bigint) as units,
                cast(get_json_object(value, '$.amount') as decimal(20, 2)) as amount
            from {landed} as landed
            join {batch} as summed on kind = 'position' and place = concat_ws('/', topic, landed.partition)
                and landed.offset < summed.offset
            left anti join {batch} as buried on buried.kind = 'buried' and buried.place = position),
        first as (
            select *, row_number() over (partition by message_id order by partition, offset) as nth from message),
        member as (
            select *, count_if(complete) over (partition by partition, key order by offset
                rows between unbounded preceding and 1 preceding) as completions from first where nth = 1),
        total as (
            select concat_ws('/', 'batch.events', partition, min(offset)) as place,
                concat_ws(' ', key, count_if(not complete), sum(units), sum(amount)) as facts
            from member group by partition, key, completions
            having count_if(complete) = 1 and count_if(not complete) > 0)
        select total.* from total left anti join {batch} as open on open.kind = 'open' and open.place = total.place"""
}

HOP = "batch.events → total"
SOURCE = "'batch ' || place"  # never late: what cannot be judged yet is left out above
GONE = "if(kind = 'batch-unrecoverable', 'unrecoverable: its records were gone before they could be replayed', null)"
PUBLISHED = "event_id is not null"
HOPS = [
    hops.row(HOP, "in batch_sum", "place", print="facts", source=SOURCE),
    hops.row(
        HOP,
        "out batch",
        "place",
        effect="event_id",
        print="facts",
        source=SOURCE,
        note=GONE,
        when=PUBLISHED,
    ),
]

settings.INPUTS.extend(INPUTS)
settings.TOPICS.extend(TOPICS)
snapshot.TABLES.update(TABLES)
hops.DERIVED.update(DERIVED)
hops.HOPS.extend(HOPS)
hops.PATH.append(HOP)
