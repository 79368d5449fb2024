"""`pipeline bench --peers`: the same orders through other outboxes, each as its own pages say."""
