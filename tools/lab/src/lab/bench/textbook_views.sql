-- What landed and what must have landed, as the joins read it.

-- name: landed in DuckDB
select
    topic,
    concat_ws('/', topic, partition, "offset") as position,
    sha256(value) as sha256,
    decode(key) as key,
    decode(list_filter(headers, lambda h: h.key = 'message_id')[1].value) as message_id,
    decode(list_filter(headers, lambda h: h.key = 'id')[1].value) as event_id
from landed_file

-- name: expected in DuckDB
select concat_ws('/', topic, partition, unnest(range(last + 1))) as position
from (select topic, partition, max("offset") as last from landed_file group by topic, partition)

-- name: landed in Spark
select
    topic,
    partition,
    offset,
    concat_ws('/', topic, partition, offset) as position,
    sha2(value, 256) as sha256,
    string(key) as key,
    string(get(filter(headers, header -> header.key = 'message_id'), 0).value) as message_id,
    string(get(filter(headers, header -> header.key = 'id'), 0).value) as event_id
from {landed_file}

-- name: expected in Spark
select concat_ws('/', topic, partition, offset) as position
from (select topic, partition, max(offset) as last from {landed} group by topic, partition)
lateral view explode(sequence(0, last)) as offset
