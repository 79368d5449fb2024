"""What service and relay count."""

from prometheus_client import Counter

MESSAGES = Counter("tally_messages", "Records by what became of them", ["outcome"])
RELAYED = Counter("tally_relayed_events", "Events that the broker has acknowledged")
FENCED = Counter("tally_fenced_relays", "Shards that another relay had taken over meanwhile")
