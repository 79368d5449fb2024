"""Run the auditor as `python -m pipeline_check`."""

from pipeline_check.command import main

if __name__ == "__main__":
    main()
