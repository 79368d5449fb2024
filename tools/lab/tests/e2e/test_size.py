"""The model of `pipeline size` beside a real stack, and a constant that is wrong."""

from pathlib import Path

import pytest

from lab.size.check import Checked, check, lines
from lab.size.constants import Constants, read_constants, write_constants
from lab.size.measure import measure
from ops.settings import ROOT, Settings
from ops.stack.stack import silently

pytestmark = pytest.mark.prove
RATES = (500, 50)
SECONDS = 15
MEASURED = 10_000  # orders
# They depend on the template and on Postgres, and not on how fast this machine is at the moment.
OF_ANY_MACHINE = ("log of an order", "tables of an order", "topics of an order")


@pytest.fixture(scope="module")
def settings() -> Settings:
    """Where the throwaway stacks are made."""
    return Settings(run_dir=ROOT / ".run" / "test", jars_dir=ROOT / ".run" / "jars")


@pytest.fixture(scope="module")
def checked(settings: Settings) -> Checked:
    """Two loads on a stack of their own."""
    return check(settings, silently, read_constants(), RATES, SECONDS)


def test_log_tables_and_topics_are_as_large_as_the_model_says(checked: Checked) -> None:
    """Within a quarter at each load, with the full-page images that random keys cost."""
    found = [one for one in checked.found if one.what in OF_ANY_MACHINE]
    assert len(found) == len(RATES) * len(OF_ANY_MACHINE)
    assert [one for one in found if not one.is_close] == [], "\n".join(lines(checked))


def test_control_without_its_images_the_model_of_the_log_is_wrong(checked: Checked) -> None:
    """At the lighter load an order by itself is far less than what was measured."""
    bare = read_constants().log.order_bytes
    [light] = [one for one in checked.found if (one.rate, one.what) == (50, "log of an order")]
    assert not light._replace(model=bare).is_close


def test_the_constants_of_the_lab_are_those_of_this_template(
    settings: Settings, tmp_path: Path
) -> None:
    """Measured again, each number of bytes is as it is kept, within a quarter."""
    measured = measure(settings, silently, MEASURED)
    write_constants(measured, tmp_path / "constants.toml")
    assert read_constants(tmp_path / "constants.toml").about == measured.about
    now, kept = sizes(measured), sizes(read_constants())
    changed = {name: (kept[name], now.get(name, 0)) for name in kept}
    assert {name: both for name, both in changed.items() if is_far(*both)} == {}


def sizes(constants: Constants) -> dict[str, float]:
    """Bytes that do not depend on the machine."""
    tables = {name: one.rows + one.indexes for name, one in constants.tables.items()}
    topics = {name: one.together for name, one in constants.topics.items()}
    return {**tables, **topics, "log": constants.log.order_bytes}


def is_far(kept: float, now: float) -> bool:
    """More than a quarter, and more than the few bytes that a page more or less is."""
    return abs(now - kept) > max(0.25 * kept, 5)
