-- Landed rows that have changed, in Spark SQL.

-- name: changed
-- A row that was only rewritten was removed as often as it was added.
with weighed as (
    select *, 1 as weight
    from {added}
    union all
    select *, -1 as weight
    from {removed}
),
hashed as (
    select
        topic,
        partition,
        offset,
        weight,
        xxhash64(timestamp, key, value, headers) as content
    from weighed
    where offset < from_json({ends}, 'map<string, bigint>')[concat_ws('/', topic, partition)]
),
summed as (
    select topic, partition, offset, content
    from hashed
    group by topic, partition, offset, content
    having sum(weight) <> 0
)
select distinct topic, partition, offset
from summed
