-- Digests of the two sides of each hop, in Spark SQL.
--
-- Each row adds hashes with its weight: what goes in counts for, what comes out against. A bucket
-- in which each id went in once and came out once, with the same fingerprint, sums up to zero.
--
-- Sums, not exclusive ors: an even number of extra copies would cancel out. Forty bits of a hash
-- leave room for the sum of eight million rows. Two hashes with seeds of their own are eighty:
-- that one wrong bucket of a million sums up to zero by chance has the probability 2^-60, or 1e-18.
-- Disks promise no less than one wrong bit in 1e15, and a run reads 1e10.

-- name: hashed
-- What digests need of a row of a hop, which they know by its number. Text is hashed where it is read,
-- and not carried along.
named_struct(
    'hop', {hop},
    'is_in', {side} = 'in',
    'is_out', {side} = 'out',
    'is_redelivered', {side} = 'redelivered',
    'id_weight', if({side} = 'reference', 0, {weight}),
    'fingerprint_weight', if({fingerprint} is null, 0, {weight}),
    'first_id', xxhash64(1, {id}),
    'second_id', xxhash64(2, {id}),
    'first_fingerprint', xxhash64(1, {id}, {fingerprint}),
    'second_fingerprint', xxhash64(2, {id}, {fingerprint}),
    'is_unusual',
        {problem} is not null
        or {side} = 'out' and {effect} is null
        or coalesce({effect} = 'not checked', false),
    'is_rejected', coalesce(find_in_set({effect}, {rejected}) > 0, false),
    'is_dead_letter', coalesce({effect} = 'dead letter', false),
    'source', {source}
)

-- name: number
-- Where a row's hop has a name for each topic: the place of that name. None would be a row not judged.
coalesce(
    nullif(array_position(array({names}), {name}), 0) - 1,
    bigint(raise_error('no hop is named ' || {name}))
)

-- name: digest
-- A bucket is `plain` if all of its ids must be matched: none is open or has a problem, and nothing
-- came out without an effect. What was redelivered came out, too: as the effect of an earlier record.
-- One number stands for hop and bucket: to compare the names of hops takes as long as all sums.
with summed as (
    select
        hop * {buckets} + pmod(first_id, {buckets}) as place,
        count_if(is_in) as ins,
        count_if(is_out) as outs,
        count_if(is_redelivered) as redelivered,
        sum(
            id_weight * shiftright(first_id, 24)
            + fingerprint_weight * shiftright(first_fingerprint, 24)
        ) as first,
        sum(
            id_weight * shiftright(second_id, 24)
            + fingerprint_weight * shiftright(second_fingerprint, 24)
        ) as second,
        count_if(is_unusual or open_as is not null) as unusual,
        count_if(is_rejected) as rejected,
        count_if(is_dead_letter) as dead_letters
    from {hashed}
    left join {open_source} using (source)
    group by place
)
select
    * except (place),
    element_at(split({names}, '\n'), int(place div {buckets}) + 1) as hop,
    pmod(place, {buckets}) as bucket,
    ins = outs + redelivered and first = 0 and second = 0 and unusual = 0 as is_plain
from summed

-- name: repeated
-- The buckets with an id that goes in more than once: if it came out as often, the sums agree.
select distinct pmod(first_id, {buckets}) as bucket
from {repeats}

-- name: differing
-- The buckets to judge id by id.
select hop, bucket
from {digests}
left join (select bucket, true as is_repeated from {repeated}) using (bucket)
where not is_plain or is_repeated

-- name: suspects
-- The rows of these buckets.
select hops.*
from {hops} as hops
left semi join {differing} as differing
    on differing.hop = hops.hop
    and differing.bucket = pmod(xxhash64(1, hops.id), {buckets})

-- name: counts
-- What the other buckets hold: all of it is matched.
select
    hop,
    sum(ins) as in,
    sum(outs) as out,
    sum(redelivered) as duplicates_removed,
    sum(rejected) as rejected,
    sum(dead_letters) as dead_letters,
    sum(ins) as matched,
    0 as missing,
    0 as duplicate,
    0 as extra,
    0 as different,
    0 as not_checked,
    0 as late,
    0 as parked,
    0 as waiting,
    string(null) as waiting_since
from {digests}
left anti join {differing} using (hop, bucket)
where ins > 0
group by hop
