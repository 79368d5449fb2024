-- Digests of the two sides of each hop, in Spark SQL.
--
-- Each row adds hashes with its weight: what goes in counts for, what comes out against. A bucket
-- in which each id went in once and came out once, with the same fingerprint, sums up to zero.
--
-- Sums, not exclusive ors: an even number of extra copies would cancel out. Forty bits of a hash
-- leave room for the sum of eight million rows. Two hashes with seeds of their own are eighty:
-- that one wrong bucket of a million sums up to zero by chance has the probability 2^-60, or 1e-18.
-- Disks promise no less than one wrong bit in 1e15, and a run reads 1e10.

-- name: digest
-- A bucket is `plain` if all of its ids must be matched: none was redelivered, is open or has a
-- problem, and nothing came out without an effect.
with hashed as (
    select
        hop,
        side,
        effect,
        problem,
        source,
        xxhash64(hop, id) as bucket_hash,
        if(side in ('in', 'out'), weight, 0) as id_weight,
        if(fingerprint is null, 0, weight) as fingerprint_weight,
        xxhash64(1, id) as first_id,
        xxhash64(2, id) as second_id,
        xxhash64(1, id, fingerprint) as first_fingerprint,
        xxhash64(2, id, fingerprint) as second_fingerprint
    from {hops}
),
summed as (
    select
        hop,
        pmod(bucket_hash, {buckets}) as bucket,
        count_if(side = 'in') as ins,
        count_if(side = 'out') as outs,
        sum(
            id_weight * shiftright(first_id, 24)
            + fingerprint_weight * shiftright(first_fingerprint, 24)
        ) as first,
        sum(
            id_weight * shiftright(second_id, 24)
            + fingerprint_weight * shiftright(second_fingerprint, 24)
        ) as second,
        count_if(
            side = 'redelivered'
            or open_as is not null
            or problem is not null
            or side = 'out' and effect is null
            or effect = 'not checked'
        ) as unusual,
        count_if(find_in_set(effect, {rejected}) > 0) as rejected,
        count_if(effect = 'dead letter') as dead_letters
    from hashed
    left join {open_source} using (source)
    group by hop, bucket
)
select
    *,
    ins = outs and first = 0 and second = 0 and unusual = 0 as is_plain
from summed

-- name: repeated
-- The buckets with an id that went in more than once: if it came out as often, the sums agree.
select distinct pmod(bucket_hash, {buckets}) as bucket
from (
    select xxhash64(hop, id) as bucket_hash
    from {hops}
    where side = 'in'
    group by bucket_hash
    having count(*) > 1
)

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
    on differing.hop = hops.hop and differing.bucket = pmod(xxhash64(hops.hop, hops.id), {buckets})

-- name: counts
-- What the other buckets hold: all of it is matched.
select
    hop,
    sum(ins) as in,
    sum(outs) as out,
    0 as duplicates_removed,
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
