"""Two one-shots that bring what connect/ describes to a cluster: its topics, its connectors."""
