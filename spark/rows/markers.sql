-- Offsets without a record, in Spark SQL.

-- name: offsets
-- Every offset of these ranges. The inner sequence bounds each array, however long a partition is.
select topic, partition, offset
from {ranges}
lateral view explode(sequence(start, stop - 1, 10000)) as chunk
lateral view explode(sequence(chunk, least(chunk + 10000, stop) - 1)) as offset

-- name: uneven
-- The partitions whose landed offsets do not add up to those that there are, as digest.sql adds up.
-- Nothing has to be sorted for that. Sums of hashes of 32 bits have room for billions of offsets.
with weighted as (
    select topic, partition, offset, bigint(1) as weight
    from {landed}
    union all
    select topic, partition, offset, bigint(-1)
    from {expected}
)
select topic, partition
from weighted
group by topic, partition
having sum(weight) <> 0 or sum(weight * hash(offset)) <> 0 or sum(weight * hash(1, offset)) <> 0

-- name: gap
-- The offsets that have not landed.
select topic, partition, offset
from {expected}
left anti join {landed} using (topic, partition, offset)

-- name: unknown
-- Gaps that no earlier run has looked at, as the stretch of each partition that has to be read.
select topic, partition, min(offset) as first, max(offset) as last
from {gaps}
left anti join {known} using (topic, partition, offset)
group by topic, partition

-- name: seen_empty
-- Gaps in which Kafka has no record either, where it still has the offsets before and after.
select gap.topic, gap.partition, gap.offset
from {gaps} as gap
join {read} as stretch using (topic, partition)
left anti join {held} as held
    on held.topic = gap.topic and held.partition = gap.partition and held.offset = gap.offset
left anti join {known} as known
    on known.topic = gap.topic and known.partition = gap.partition and known.offset = gap.offset
where gap.offset between stretch.start and stretch.stop - 1

-- name: expected
-- What must have landed: every offset but those without a record.
select expected.*
from {expected} as expected
left anti join (
    select concat_ws('/', topic, partition, offset) as position
    from {empty}
) using (position)
