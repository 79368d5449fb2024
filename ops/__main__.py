"""python -m ops: the same as `pipeline`, where the project is not installed."""

from ops.cli import main

main()
