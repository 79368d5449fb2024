"""Every test finds the stacks of tests/stacks.py, wherever it lies."""

pytest_plugins = ["tests.stacks"]
