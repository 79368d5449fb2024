"""What each pattern buys, cell by cell; PROVE=1 (make prove) climbs every step under every fault."""

import os
from collections.abc import Iterator

import pytest

from lab.ladder.cell import measure
from lab.ladder.command import GOOD, reconcile
from lab.ladder.place import place
from lab.ladder.steps import FAULTS, STEPS, WHOLE, struck
from lab.prove.proxy import Proxy
from ops.settings import ROOT, Settings
from ops.stack.stack import Stack, silently
from tests.stacks import PORTS
from tools.lab.tests.ladder import expected

SEED = 1
PROVE = bool(os.environ.get("PROVE"))
ORDERS = 1000 if PROVE else 80  # enough for one strike of each fault
# Without crashes of the template's own service that only repeat the ones here: each costs a session timeout.
FEW = {"ack": (0, 1), "crash": (0, 1, 2, 3, 4), "gap": (2, 3), "answer": (2, 3, 4)}
ALL = dict.fromkeys(FAULTS, range(len(STEPS)))


@pytest.fixture(scope="module")
def ladder() -> Iterator[tuple[Stack, Proxy]]:
    """A stack of its own, with a proxy before its broker."""
    run, jars = ROOT / ".run" / "test", ROOT / ".run" / "jars"
    with place(
        Settings(run_dir=run, jars_dir=jars, audit_port=PORTS + 46, service_port=PORTS + 47),
        silently,
    ) as found:
        yield found


@pytest.mark.parametrize(
    ("fault", "step"),
    [(fault, step) for fault, steps in (ALL if PROVE else FEW).items() for step in steps],
)
def test_a_step_doubles_and_loses_what_its_patterns_allow(
    ladder: tuple[Stack, Proxy], fault: str, step: int
) -> None:
    """Exactly what the strikes of this fault must leave on this step: the zeros and what is not zero."""
    found = measure(*ladder, step, fault, ORDERS, SEED)
    assert found.hops == expected(step, struck(fault, ORDERS)), f"seed {SEED}, {found}"
    if step == WHOLE:
        assert reconcile(ladder[0], print) == GOOD
