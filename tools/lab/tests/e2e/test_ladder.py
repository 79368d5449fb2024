"""What each pattern buys, cell by cell; PROVE=1 (make prove) measures every cell."""

import os
from collections.abc import Iterator

import pytest

from lab.kafka_proxy import KafkaProxy
from lab.ladder.cell import measure
from lab.ladder.command import GOOD, reconcile
from lab.ladder.environment import ladder_stack
from lab.ladder.steps import FAULTS, STEPS, WHOLE, fault_points
from ops.settings import ROOT, Settings
from ops.stack.stack import Stack, silently
from tools.lab.tests.ladder import expected

SEED = 1
PROVE = bool(os.environ.get("PROVE"))
ORDERS = 1000 if PROVE else 80  # enough for one of each fault
ALL = dict.fromkeys(FAULTS, range(len(STEPS)))
# Without further crashes of the template's own service: each costs a session timeout.
FEW = {
    "ack": (0, 1),
    "crash": (0, 2, 5),
    "gap": (2, 3, 5),
    "answer": (3, 4),
    "post-first": (0, 3, 4, 5),
    "post-last": (0, 3, 4, 5),
}
CELLS = [(fault, step) for fault, steps in (ALL if PROVE else FEW).items() for step in steps]


@pytest.fixture(scope="module")
def ladder() -> Iterator[tuple[Stack, KafkaProxy]]:
    """A stack of its own, with a proxy before its broker."""
    settings = Settings(run_dir=ROOT / ".run" / "test", jars_dir=ROOT / ".run" / "jars")
    with ladder_stack(settings, silently) as found:
        yield found


@pytest.mark.parametrize(("fault", "step"), CELLS)
def test_a_step_doubles_and_loses_what_its_patterns_allow(
    ladder: tuple[Stack, KafkaProxy], fault: str, step: int
) -> None:
    """Exactly what this fault must leave on this step: the zeros and what is not zero."""
    stack, proxy = ladder
    found = measure(stack, proxy, step, fault, ORDERS, SEED)
    assert found.hops == expected(step, fault_points(fault, ORDERS)), f"seed {SEED}, {found}"
    if step == WHOLE:
        assert reconcile(stack, print) == GOOD
