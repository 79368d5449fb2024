"""python -m ops.check.live [PATH ...]: ask what runs, and hold it against the connectors and migrations in PATH."""

import sys

from ops.check.live.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
