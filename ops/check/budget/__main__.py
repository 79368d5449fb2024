"""python -m ops.check.budget [FILE] [NAME=VALUE ...]: print every inequality; exit 1 if one does not hold."""

import sys

from ops.check.budget.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
