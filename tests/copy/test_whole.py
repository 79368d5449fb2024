"""What takes too long for `make test`: the whole tests of copies, in `make prove`."""

from pathlib import Path

import pytest

from tests.copy.copies import EXTRAS, ROOT, STACK, Copy, make_copy, make_payments

HOURS = 1.5  # what has not ended by then hangs: on two quiet cores the slowest copy took 39 minutes
pytestmark = pytest.mark.prove


@pytest.mark.parametrize("keep", [[], EXTRAS], ids=["nothing", "everything"])
def test_the_whole_tests_and_the_demo_of_a_copy_pass(
    template: Path, cache: Path, tmp_path: Path, keep: list[str]
) -> None:
    """Without an edit, `make test` and then `make demo` end well in a copy."""
    copy = make_copy(template, tmp_path / "copy", cache, keep=keep)
    pass_whole(copy, "everything" if keep else "nothing")


def test_the_whole_tests_of_a_copy_with_a_contract_of_its_own_pass(
    template: Path, cache: Path, tmp_path: Path
) -> None:
    """For payments too: the tests that come with the template need no edit for another contract."""
    pass_whole(make_payments(template, tmp_path / "copy", cache), "payments")


def pass_whole(copy: Copy, name: str) -> None:
    """Assert that every test of a copy passes, and that its demo has a good verdict.

    What it has printed is in a file by then: pytest tells about it only after the last copy.
    """
    whole = copy.make("test", "demo", timeout=HOURS * 3600, **STACK, PROVE="")
    log = ROOT / ".run" / f"whole-copy-{name}.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text(whole.output)
    assert whole.code == 0, f"the output is in {log}"
    assert "nothing lost, nothing doubled" in whole.output
