-- What the guard asks PostgreSQL, in the database of an outbox.

-- name: slot
select
    found.slot_name is not null as exists,
    coalesce(found.active, false) as active,
    coalesce(found.wal_status, 'missing') as wal_status,
    pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint as written,
    coalesce(pg_wal_lsn_diff(found.confirmed_flush_lsn, '0/0'), 0)::bigint as confirmed,
    coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), found.restart_lsn), 0)::bigint as held,
    found.safe_wal_size as "left",
    exists (
        select
        from pg_publication_tables
        where pubname = 'outbox' and tablename = 'outbox'
    ) as is_published
from (select) as always
left join pg_replication_slots as found on found.slot_name = %(slot)s
