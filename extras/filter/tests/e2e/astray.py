"""python -m extras.filter.tests.e2e.astray: a filter whose client falls out of its group.

It does once, after its first batch, and says nothing of it: as librdkafka does when a broker has
told it that there are no brokers. The process that starts anew does not.
"""

import os
from collections.abc import Sequence

from extras.filter.__main__ import main
from extras.filter.crossing import Crossing
from service.record import Record

HAPPENED = "HAS_GONE_ASTRAY"


class Astray(Crossing):
    """Leaves the group behind the filter's back."""

    def take_across(self, records: Sequence[Record]) -> None:
        """Take a batch across, and leave after the first."""
        super().take_across(records)
        if HAPPENED not in os.environ:
            os.environ[HAPPENED] = "yes"
            self.consumer.unsubscribe()


if __name__ == "__main__":
    main(make_crossing=Astray)
