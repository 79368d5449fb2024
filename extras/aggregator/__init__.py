"""The aggregator: a second subscriber that sums the messages of a group and publishes one total.

On the wire a group is called a batch: topics, tables and columns keep this name. In code a batch
is what one poll brings.
"""
