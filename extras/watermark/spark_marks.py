"""The high-water mark over a landed topic: what the service lets pass, what it drops, and what it never counted."""

from pyspark.sql import DataFrame

from spark.sources import query

# A dead letter's event has the record's position as its key. Of the sequence, as the service reads it, there is
# one, of 1 to 18 digits. The window ends before the record: a mark is what came earlier, and -1 is below any.
PASSED = """
    with buried as (select distinct string(key) as position from {landed} where topic = 'dead-letter.events'),
    numbered as (
        select *, transform(filter(headers, header -> header.key = 'sequence'), header -> string(header.value)) as given
        from {landed} where topic = {topic}),
    read as (
        select numbered.*, case when size(given) = 1 and buried.position is null
            and length(get(given, 0)) between 1 and 18 and not get(given, 0) rlike '[^0-9]'
            then try_cast(get(given, 0) as bigint) end as sequence
        from numbered left join buried on buried.position = concat_ws('/', topic, partition, offset))
    select * except (given), sequence > coalesce(max(sequence) over (
        partition by partition order by offset rows between unbounded preceding and 1 preceding), -1) as passed
    from read"""


def watermarked(landed: DataFrame, topic: str) -> DataFrame:
    """Each record of the topic with its sequence and whether it passed; both null where it is a dead letter."""
    return query(PASSED, {"landed": landed}, topic=topic)
