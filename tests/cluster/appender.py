"""A driver that appends to a table: python -m tests.cluster.appender TABLE FIRST COUNT.

It appends a row with each number from FIRST on, in a commit of its own, and prints the numbers
whose commits were acknowledged.
"""

import sys

from spark.session import make_session


def main(table: str, first: int, count: int) -> None:
    """Wait for a line, so that two begin together, and append."""
    spark = make_session("appender", None)
    spark.range(1).count()
    print("ready", flush=True)  # noqa: T201 - for the test
    sys.stdin.readline()
    for number in range(first, first + count):
        row = spark.range(number, number + 1)
        row.coalesce(1).write.format("delta").mode("append").save(table)
        print(number, flush=True)  # noqa: T201 - for the test


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
