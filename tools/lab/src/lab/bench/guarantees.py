"""What all guarantees cost together: the service beside itself with all of them off."""

from functools import partial

from lab.bench import chain
from lab.bench.numbers import Number, Target, compare
from lab.bench.running import WARM_UP, WITHOUT_AUDIT
from lab.environment import connect_as_admin
from ops.stack.stack import Stack

SERVICE = "service"
UNGUARDED = "lab.bench.unguarded"
# Orders, those that are remembered, and those whose value was hashed.
FOUND = """
    select count(*), count(tracking.message_id), count(fulfillment.value_sha256)
    from fulfillment
    left join tracking using (message_id)
"""


def measure(stack: Stack, orders: int, rounds: int) -> list[Number]:
    """Return the rates of both, from the producer to the event on the topic; neither audits."""
    arms = {
        "all on": partial(rate, stack, SERVICE, orders),
        "all off": partial(rate, stack, UNGUARDED, orders),
    }
    targets = {"all on / all off": Target(goal=">= 0.7")}
    return compare("guarantees", arms, targets, rounds, stack.step)


def rate(stack: Stack, module: str, count: int) -> float:
    """Return orders a second; what was written must show which of the two has run."""
    found = chain.rate(stack, module, count, WITHOUT_AUDIT)
    written = count + len(WARM_UP)
    guarded = written if module == SERVICE else 0
    with connect_as_admin(stack.env(), "DATABASE_URL") as admin:
        row = admin.execute(FOUND).fetchone()
    expected = (written, guarded, guarded)
    assert row == expected, f"{module}: {row} instead of {expected}: the rate means nothing"
    return found
