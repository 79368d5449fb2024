"""Structured logs: one JSON object a line, the same names everywhere."""

import sys

from structlog import PrintLoggerFactory, configure, make_filtering_bound_logger
from structlog.processors import JSONRenderer, TimeStamper, add_log_level, format_exc_info
from structlog.typing import Processor


def configure_logs(level: str) -> None:
    """To standard error, so that standard output stays free for what a command answers."""
    steps: list[Processor] = [
        add_log_level,
        TimeStamper(fmt="iso"),
        format_exc_info,
        JSONRenderer(),
    ]
    configure(
        steps, make_filtering_bound_logger(level), logger_factory=PrintLoggerFactory(sys.stderr)
    )
