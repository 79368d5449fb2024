"""Print what a comparison has compared, whether it passes or not: the seed and the verdicts."""

from collections.abc import Callable

import pytest

Tell = Callable[[str], None]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Print a line that pytest does not keep to itself."""

    def tell(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}")  # noqa: T201 - this is what it is for

    return tell
