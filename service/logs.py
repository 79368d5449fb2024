"""Structured logs, one JSON object a line; and the last words of a process that cannot run."""

import sys
from typing import NoReturn

from structlog import PrintLoggerFactory, configure, make_filtering_bound_logger
from structlog.processors import JSONRenderer, TimeStamper, add_log_level, format_exc_info
from structlog.typing import Processor


def configure_logs(level: str) -> None:
    """Log to standard error, so that standard output is free for what a command answers."""
    processors: list[Processor] = [
        add_log_level,
        TimeStamper(fmt="iso"),
        format_exc_info,
        JSONRenderer(),
    ]
    configure(
        processors,
        make_filtering_bound_logger(level),
        logger_factory=PrintLoggerFactory(sys.stderr),
    )


def exit_with_error(sentence: str) -> NoReturn:
    """End the process with this sentence and exit code 2: something has to be set right first."""
    sys.stderr.write(f"{sentence}\n")
    raise SystemExit(2)
