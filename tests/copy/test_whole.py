"""What takes too long for `make test`: the whole tests of copies, in `make prove`."""

import os
from pathlib import Path

import pytest

from tests.copy.copies import EXTRAS, STACK, make_copy

pytestmark = pytest.mark.skipif(not os.environ.get("PROVE"), reason="only in `make prove`")


@pytest.mark.parametrize("keep", [[], EXTRAS], ids=["nothing", "everything"])
def test_the_whole_tests_and_the_demo_of_a_copy_pass(
    template: Path, cache: Path, tmp_path: Path, keep: list[str]
) -> None:
    """Without an edit, `make test` and then `make demo` end well in a copy."""
    copy = make_copy(template, tmp_path / "copy", cache, keep=keep)
    whole = copy.make("test", "demo", timeout=2 * 3600, **STACK)
    assert whole.code == 0, whole.output
    assert "nothing lost, nothing doubled" in whole.output
