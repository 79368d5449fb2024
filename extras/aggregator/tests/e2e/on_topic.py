"""Run the aggregator on the TOPIC that is the argument: one of a test's own."""

import sys

from extras.aggregator.__main__ import main

if __name__ == "__main__":
    main(topic=sys.argv[1])
