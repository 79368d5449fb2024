"""Every test finds the stacks of tests/stacks.py, wherever it is; a copy without ops/ has none."""

from pathlib import Path

HAS_STACKS = Path(__file__).with_name("tests").joinpath("stacks.py").exists()
pytest_plugins = ["tests.stacks"] if HAS_STACKS else []
