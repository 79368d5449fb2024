"""The aggregator: a second subscriber that sums the messages of a batch, and publishes one total for each."""
