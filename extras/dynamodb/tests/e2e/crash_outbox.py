"""python -m extras.dynamodb.tests.e2e.crash_outbox PART STEP WHEN N: it dies at the Nth STEP.

PART is service or relay. WHEN is before, behind, or freeze: then it is stopped before the step,
until somebody wakes it.
"""

import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

from extras.dynamodb.outbox import __main__ as service
from extras.dynamodb.outbox import relay

SIGNALS = {"before": signal.SIGKILL, "behind": signal.SIGKILL, "freeze": signal.SIGSTOP}


def dying(wire: Callable[..., Any], step: str, when: str, time: int) -> Callable[..., Any]:
    """Wire the real steps, with a signal before one of them or behind it."""
    calls = count(1)

    def wire_dying(*parts: Any) -> Any:
        real = wire(*parts)

        def call(*given: Any) -> Any:
            is_time = next(calls) == time
            if is_time and when != "behind":
                os.kill(os.getpid(), SIGNALS[when])
            answer = getattr(real, step)(*given)
            if is_time and when == "behind":
                os.kill(os.getpid(), SIGNALS[when])
            return answer

        return real._replace(**{step: call})

    return wire_dying


if __name__ == "__main__":
    part, step, when, time = sys.argv[1:]
    module = {"service": service, "relay": relay}[part]
    main: Callable[..., None] = module.main
    main(dying(module.wire, step, when, int(time)), [])
