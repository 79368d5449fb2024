-- What the business's own rows know of the messages in `delivered`: which of them came before, and
-- with which value. A dedup store forgets; these rows are never deleted.
--
-- Null as the value means that it is not known: the row is older than the column.

select message_id, value_sha256
from handled_before(:subscriber, array(select message_id from delivered))
