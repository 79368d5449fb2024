-- One outcome for each id of each hop, and the counts and findings that people read, in Spark SQL.

-- name: judged
-- What went in decides whether an id can be judged; an id that only came out decides by itself. The
-- outcomes are asked for in this sequence: what cannot be judged yet, what is known to be wrong,
-- how often it is there. In a hop that has not settled, what has not come out may still come.
with summary as (
    select
        hop,
        id,
        count_if(side = 'in') as ins,
        count_if(side = 'out') as outs,
        count_if(side = 'redelivered') as redelivered,
        array_sort(collect_set(effect)) as effects,
        collect_set(source) as sources,
        size(collect_set(fingerprint)) > 1 as differs,
        max(problem) as problem,
        min(written_at) as written_at,
        ins > 0 and redelivered = 0 and size(effects) = 0 as is_inside,
        coalesce(
            if(ins > 0, max(open_as) filter (where side = 'in'), max(open_as)),
            if(is_inside and array_contains(split({not_settled}, ','), hop), 'late', null)
        ) as open_as
    from {hops}
    left join {open_source} using (source)
    group by hop, id
    having ins + outs + redelivered > 0
)
select
    *,
    open_as is not null as is_open,
    case
        when is_open then open_as
        when problem is not null then 'different'
        when ins = 0 then 'extra'
        when array_contains(effects, 'not checked') then 'not checked'
        when size(effects) = 0 and redelivered = 0 then 'missing'
        when size(effects) > 1 then 'duplicate'
        when differs then 'different'
        else 'matched'
    end as outcome,
    case outcome
        when 'different' then coalesce(problem, 'not the same on both sides')
        when 'missing' then 'went in, did not come out'
        when 'extra' then 'came out, nothing went in'
        when 'parked' then 'waits behind a dead letter of its key'
        when 'not checked' then 'nothing is left to compare it with'
        when 'duplicate'
            then concat(size(effects), ' effects: ', array_join(slice(effects, 1, 3), ', '))
    end as detail
from summary

-- name: counts
-- One row for each hop; ids that are late or parked are counted as such and nowhere else. Of those
-- that are late, some have not come out yet: they wait, where the hop knows when they were written.
select
    hop,
    count_if(not is_open and ins > 0) as in,
    sum(if(is_open, 0, size(effects))) as out,
    sum(
        case
            when is_open then 0
            when size(effects) = 0 then redelivered
            else outs - size(effects)
        end
    ) as duplicates_removed,
    count_if(not is_open and arrays_overlap(effects, split({rejected}, ','))) as rejected,
    count_if(not is_open and array_contains(effects, 'dead letter')) as dead_letters,
    count_if(outcome = 'matched') as matched,
    count_if(outcome = 'missing') as missing,
    count_if(outcome = 'duplicate') as duplicate,
    count_if(outcome = 'extra') as extra,
    count_if(outcome = 'different') as different,
    count_if(outcome = 'not checked') as not_checked,
    count_if(outcome = 'late') as late,
    count_if(outcome = 'parked') as parked,
    count_if(outcome = 'late' and is_inside and written_at is not null) as waiting,
    left(min(written_at) filter (where outcome = 'late' and is_inside), 19) as waiting_since
from {judged}
group by hop

-- name: late_partitions
-- The id of this hop is a position: topic, partition and offset.
select distinct int(split_part(id, '/', 2)) as partition
from {judged}
where hop = {input_hop} and outcome = 'late'

-- name: failed_repairs
-- Ids that were repaired and are a defect all the same; of several repairs, the last.
select
    hop,
    id,
    outcome,
    max_by(act, done_at) as act,
    max_by(planned_by, done_at) as who,
    max(left(done_at, 19)) as done_at
from {repair}
join {judged} using (hop, id)
where outcome not in ('matched', 'late', 'parked', 'not checked')
group by hop, id, outcome
order by hop, id

-- name: first_findings
-- The first ids of each defect in each hop; the table of outcomes has all of them.
with numbered as (
    select *, row_number() over (partition by hop, outcome order by id) as number
    from {judged}
    where outcome not in ('matched', 'late', 'parked', 'not checked')
)
select hop, id, outcome, detail
from numbered
where number <= 20
