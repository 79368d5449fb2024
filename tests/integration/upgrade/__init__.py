"""What version 0.1 left behind, and its upgrade.

A real run of version 0.1 wrote it: 20 good orders with the others that the demo adds, three groups
for the aggregator, one of which is complete, and a landing. Both databases are as pg_dump wrote
them, the records as a consumer read them, the lake as Spark left it, checkpoint included.
"""
