"""Print what a comparison has compared, whether it passes or not: the seed and the verdicts."""

from collections.abc import Callable

import pytest

Tell = Callable[[str], None]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Return a function that prints a line which pytest does not keep to itself."""

    def tell(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}")

    return tell
