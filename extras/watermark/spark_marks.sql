-- name: passed
-- The sequence of each record as the service reads it: one header of 1 to 18 digits, or none. The
-- key of a dead letter's event is the record's position. The mark is the highest sequence before a
-- record; -1 is below any.
with dead_letter as (
    select distinct string(key) as position
    from {landed}
    where topic = {dead_letter_topic}
),
numbered as (
    select
        *,
        transform(
            filter(headers, header -> header.key = 'sequence'),
            header -> string(header.value)
        ) as sequences
    from {landed}
    where topic = {topic}
),
read as (
    select
        numbered.*,
        case
            when size(sequences) = 1
                and dead_letter.position is null
                and length(get(sequences, 0)) between 1 and 18
                and not get(sequences, 0) rlike '[^0-9]'
            then try_cast(get(sequences, 0) as bigint)
        end as sequence
    from numbered
    left join dead_letter on dead_letter.position = concat_ws('/', topic, partition, offset)
),
marked as (
    select
        *,
        max(sequence) over (
            partition by partition
            order by offset
            rows between unbounded preceding and 1 preceding
        ) as mark
    from read
)
select * except (sequences, mark), sequence > coalesce(mark, -1) as passed
from marked
