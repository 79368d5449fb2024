"""Every test finds the stacks of tests/stacks.py, wherever it is; a copy without ops/ has none.

A test that is marked `prove` is too slow for `make test`: it runs with PROVE=1.
"""

import os
from pathlib import Path

import pytest

HAS_STACKS = Path(__file__).with_name("tests").joinpath("stacks.py").exists()
pytest_plugins = ["tests.stacks"] if HAS_STACKS else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is too slow, unless PROVE is set."""
    if os.environ.get("PROVE"):
        return
    for item in items:
        if item.get_closest_marker("prove"):
            item.add_marker(pytest.mark.skip(reason="too slow for `make test`: set PROVE=1"))
