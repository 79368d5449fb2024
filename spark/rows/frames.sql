-- Frames of the comparison in Spark SQL. {names} in braces are other frames, or values that Python
-- passes.

-- name: ledger
-- What the producer saw acknowledged, and what it expects to become of it.
select
    concat_ws('/', topic, partition, offset) as position,
    value_sha256 as sha256,
    message_id,
    expected,
    string(null) as source
from {ledger}

-- name: placed_ledger
-- A ledger knows positions by Kafka's names. Of a topic that was created again, it means every
-- record with these bytes at this place.
select distinct coalesce(named.position, ledger.position) as position, ledger.* except (position)
from {ledger} as ledger
left join (
    select concat_ws('/', kafka_topic, partition, offset) as place, sha256, position
    from {landed}
    where is_input
) as named
    on named.place = ledger.position and named.sha256 <=> ledger.sha256

-- name: landed
-- Landed records below the end offsets; later ones belong to the next run. A header that is there
-- twice says nothing. The event of a dead letter or a pulse comes from the record that is its key,
-- every other event from a message. A pulse itself is no input: nothing comes of it but its event.
-- Rows of a topic that was created again are called topic@id.
with record as (
    select
        *,
        concat_ws('/', topic, partition, offset) as position,
        substring_index(topic, '@', 1) as kafka_topic,
        filter(headers, header -> header.key = {pulse_header}) as pulses,
        size(pulses) = 1 and string(get(pulses, 0).value) rlike {pulse_id} as is_pulse,
        kafka_topic = {input_topic} and is_pulse is not true as is_input,
        find_in_set(kafka_topic, {event_topics}) > 0 as is_event,
        filter(headers, header -> header.key = 'id') as event_ids,
        filter(headers, header -> header.key = 'message_id') as message_ids
    from {landed}
    where offset < from_json({ends}, 'map<string, bigint>')[concat_ws('/', topic, partition)]
),
identified as (
    select
        *,
        if(size(event_ids) = 1, string(get(event_ids, 0).value), null) as given_event_id,
        case
            when is_event then get_json_object(string(value), '$.message_id')
            when size(message_ids) = 1 then string(get(message_ids, 0).value)
        end as message_id
    from record
)
select
    topic,
    kafka_topic,
    partition,
    offset,
    timestamp,
    position,
    string(key) as key,
    sha2(value, 256) as sha256,
    monotonically_increasing_id() as row,
    is_input,
    is_event,
    message_id,
    coalesce(given_event_id, position) as event_id,
    case
        when not is_event then concat('record ', position)
        when message_id is not null then concat('message ', message_id)
        else concat('record ', string(key))
    end as source,
    if(is_input or is_event, null, string(value)) as value
from identified

-- name: expected_offset
-- The position of every offset that must have landed. The inner sequence bounds each array, however
-- long a partition is.
select
    concat_ws('/', topic, partition, offset) as position,
    string(null) as source
from {ranges}
lateral view explode(sequence(start, stop - 1, 10000)) as chunk
lateral view explode(sequence(chunk, least(chunk + 10000, stop) - 1)) as offset

-- name: forgotten_tracking
-- Tracking rows that were forgotten, made again from the records that they were made from.
select
    message_id,
    concat('message ', message_id) as source,
    topic,
    partition,
    offset,
    position,
    sha256,
    true as marked,
    string(null) as audit_error,
    timestamp as handled_at,
    concat('message ', message_id) as audit_source
from {landed}
left semi join {forgotten_offset} using (position)
where is_input

-- name: forgotten_place
-- What must be there of it in each partition. Where records were lost before they landed, and
-- somebody has accepted it, nobody can say any more: neither once the lake has retired what was
-- beside them.
select
    place,
    if(is_lost is null, contents, null) as contents,
    if(is_lost is null, null, 'not checked') as effect,
    string(null) as source
from {forgotten}
left join (
    select distinct substring_index(position, '/', 2) as place, true as is_lost
    from {lost_offset}
    left semi join {forgotten_offset} using (position)
    union
    select id, true from {noted} where kind = 'lost'
) using (place)

-- name: forgotten_landed
-- What is there of it, or was when it was retired: the same digest as in revision 0015.
with summed as (
    select
        concat_ws('/', topic, partition) as place,
        bigint(1) as `rows`,
        cast(
            conv(left(sha2(concat_ws(' ', offset, message_id, sha256), 256), 15), 16, 10)
            as decimal(38, 0)
        ) as digest
    from {forgotten_tracking}
    union all
    select id, `rows`, digest from {noted} where kind = 'forgotten'
)
select
    place,
    concat(sum(`rows`), ' messages, digest ', sum(digest)) as contents,
    string(null) as source
from summed
group by place

-- name: lost_acknowledged
-- What the producer saw acknowledged, and what Kafka deleted before it landed; somebody accepted it.
select lost.*
from {lost_offset} as lost
left semi join {ledger} using (position)

-- name: lost_handled
-- What the service handled before Kafka deleted it. Of the others nobody knows what they were.
select lost.*
from {lost_offset} as lost
left semi join (
    select position from {tracking}
    union all
    select position from {forgotten_offset}
    union all
    select position from {dead_letter}
) using (position)

-- name: open_source
-- What cannot be judged yet. Late are records at or above the committed offsets, messages that are
-- known only from there, and entries that the audit receiver has not taken yet: of these messages,
-- and of those that were put aside. Few are above: only these are looked for below. Parked are the
-- records that wait behind a dead letter of their key, wherever they are.
with known as (
    select
        explode(array(concat('record ', position), concat('message ', message_id))) as source,
        topic,
        partition,
        offset,
        false as is_tracked
    from {landed}
    where kafka_topic = {input_topic} -- a pulse, too: its event may come meanwhile
    union all
    select source, topic, partition, offset, true as is_tracked
    from {tracking}
    where substring_index(topic, '@', 1) = {input_topic}
),
placed as (
    select
        *,
        topic = {input_name} and offset >= coalesce(
            from_json({committed}, 'map<string, bigint>')[string(partition)],
            0
        ) as is_above
    from known
),
above as (
    select distinct source
    from placed
    left anti join (select source from placed where is_tracked and not is_above) using (source)
    where is_above and source is not null
),
late as (
    select source
    from above
    union all
    select regexp_replace(source, '^message ', 'unaudited ')
    from above
    where source like 'message %'
    union
    select audit_source
    from {tracking}
    where audit_source <> source
)
select source, if(parked is null, 'late', 'parked') as open_as
from late
full join (select source, true as parked from {parked}) using (source)

-- name: acknowledged
select landed.*
from {landed} as landed
left semi join {ledger} using (position)

-- name: actual_outcome
-- Another record of a dead letter's message may have had another outcome.
select
    position,
    concat('record ', position) as source,
    coalesce(dead_letter, outcome) as became,
    if(became <> expected, concat('expected ', expected, ', became ', became), null) as problem
from {ledger}
left join (select position, {dead_letter_outcome} as dead_letter from {dead_letter} where is_own)
    using (position)
left join (select message_id, outcome from {outbox} where outcome is not null)
    using (message_id)

-- name: redelivery
-- A record with a message and a value that were tracked from an earlier record; that one may have
-- been judged long ago.
with untracked as (
    select landed.*
    from {landed} as landed
    left anti join {tracking} using (position)
    where is_input
)
select untracked.*
from untracked
join {known_tracking} using (message_id, sha256)

-- name: handled
-- Messages of a dedup store that keeps no row for each: what the business and the outbox have of
-- them was written in the transaction of the claim. Each is of the first record that landed with its
-- value, or with its id, if the value is not known.
with told as (
    select message_id, sha256, written_by, timestamp(null) as occurred_at
    from {fulfillment}
    union all
    select message_id, sha256, written_by, null
    from {rejection}
    union all
    select message_id, null, written_by, occurred_at
    from {outbox}
    where outcome is not null
),
message as (
    select
        message_id,
        max(sha256) as known_sha256,
        min(written_by) as written_by,
        max(occurred_at) as handled_at
    from told
    left anti join {tracking} using (message_id)
    where message_id is not null
    group by message_id
),
record as (
    select message_id, topic, partition, offset, position, sha256
    from {landed}
    left anti join (select position from {dead_letter} where is_own) using (position)
    where is_input
),
placed as (
    select
        message.*,
        topic,
        partition,
        offset,
        position,
        coalesce(known_sha256, sha256) as sha256,
        row_number() over (
            partition by message.message_id
            order by topic, partition, offset
        ) as number
    from message
    left join record
        on record.message_id = message.message_id
        and record.sha256 = coalesce(known_sha256, record.sha256)
)
select
    message_id,
    concat('message ', message_id) as source,
    topic,
    partition,
    offset,
    position,
    sha256,
    true as marked,
    audit_error,
    handled_at,
    concat(if(is_refused = false, 'unaudited ', 'message '), message_id) as audit_source,
    written_by,
    true as is_new
from placed
left join {audit_failure} as failure using (message_id)
where number = 1

-- name: dropped_record
-- Records that were dropped, with their copies; none whose message was handled all the same.
select landed.*
from {landed} as landed
left semi join {dropped} using (message_id, sha256)
left anti join {known_tracking} using (message_id, sha256)
where is_input

-- name: rejected
-- What says that a message was rejected: its row, its event, or both. Of what was rejected before
-- there were rows, some have none. A rejection may have no winner; one that names a winner must name
-- the right one.
with told as (
    select
        message_id,
        source,
        outcome,
        written_by,
        struct(order_id, reason, fulfilled_by) as content
    from {outbox}
    where outcome <> {accepted}
),
noted as (
    select message_id, source, problem, struct(order_id, reason, fulfilled_by) as content
    from {rejection}
),
either as (
    select
        coalesce(noted.message_id, told.message_id) as message_id,
        coalesce(noted.source, told.source) as source,
        coalesce(told.outcome, {rejected}) as outcome,
        coalesce(noted.content, told.content) as content,
        noted.problem as problem_of_row,
        noted.content <> told.content as is_contradicted,
        noted.message_id is null and told.written_by > first_noted as has_lost_its_row
    from told
    full join noted on noted.message_id = told.message_id
    cross join (select min(written_by) as first_noted from {rejection})
)
select
    message_id,
    source,
    if(has_lost_its_row, null, outcome) as effect,
    case
        when problem_of_row is not null then problem_of_row
        when is_contradicted then 'its row and its event do not say the same'
        when coalesce(find_in_set(content.reason, {reasons}), 0) = 0 then concat(
            'rejected for a reason not in the contract: ', coalesce(content.reason, 'none')
        )
        when content.fulfilled_by is null then null
        when winner is null then 'rejected, but nobody fulfilled the order'
        when winner <> content.fulfilled_by
            then concat('rejected for ', content.fulfilled_by, ', fulfilled by ', winner)
    end as problem
from either
left join (select order_id as won, message_id as winner from {known_fulfillment})
    on won = content.order_id
