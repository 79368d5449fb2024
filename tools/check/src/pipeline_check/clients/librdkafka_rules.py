"""librdkafka's rules between settings: what it adjusts when nobody asked, what it refuses when somebody did."""

from collections.abc import Callable

from pipeline_check.clients.librdkafka_case import (
    ACKS,
    IN_FLIGHT,
    LINGER,
    MOST,
    OF_TOPICS,
    PRESSURE,
    RETRIES,
    TIMEOUT,
    TRANSACTION,
    Case,
)


def adjust(case: Case) -> None:
    """All that the library changes by itself, in its order."""
    transactional = case.on("transactional.id")
    if transactional and "enable.idempotence" not in case.asked:
        case.outcome.change("transactional.id switches enable.idempotence on", "enable.idempotence")
        case.values["enable.idempotence"] = True
    if transactional:
        case.adjust("socket.timeout.ms", max(case.number(TRANSACTION) - 100, 900))
    if case.on("enable.idempotence"):
        case.adjust(IN_FLIGHT, min(case.number(IN_FLIGHT), MOST))
    case.first_timeout = case.number(TIMEOUT)
    if 0 < case.first_timeout <= case.number(LINGER):
        case.adjust(LINGER, case.first_timeout - 0.1)
    if transactional and case.on("enable.idempotence"):
        case.adjust(TIMEOUT, case.number(TRANSACTION))


def expires_waiting(case: Case) -> bool:
    """A message may expire while it waits for company; looked at before and after a transaction's adjustment."""
    linger = case.number(LINGER) if LINGER in case.asked else -1
    return any(0 < timeout <= linger for timeout in (case.first_timeout, case.number(TIMEOUT)))


# What an idempotent producer refuses, whatever it is made of.
STRICT: list[tuple[str, str, Callable[[Case], bool]]] = [
    (ACKS, "acks must be all when enable.idempotence=true", lambda case: case.values[ACKS] != -1),
    (
        RETRIES,
        "retries must be at least 1 when enable.idempotence=true",
        lambda case: case.number(RETRIES) < 1,
    ),
    (
        IN_FLIGHT,
        f"{IN_FLIGHT} must be at most {MOST} when enable.idempotence=true",
        lambda case: case.number(IN_FLIGHT) > MOST,
    ),
    (
        PRESSURE,
        f"{PRESSURE} must be 1 when enable.idempotence=true",
        lambda case: case.number(PRESSURE) > 1,
    ),
    (
        "queuing.strategy",
        "queuing.strategy must be fifo when enable.idempotence=true",
        lambda case: case.values["queuing.strategy"] != "fifo",
    ),
]
TRANSACTIONAL: list[tuple[str, str, Callable[[Case], bool]]] = [
    (
        "enable.idempotence",
        "transactional.id requires enable.idempotence=true",
        lambda case: not case.on("enable.idempotence"),
    ),
    (
        "socket.timeout.ms",
        "socket.timeout.ms must be at most transaction.timeout.ms + 100",
        lambda case: case.number("socket.timeout.ms") > case.number(TRANSACTION) + 100,
    ),
    (
        TIMEOUT,
        "delivery.timeout.ms must be at most transaction.timeout.ms",
        lambda case: (
            case.on("enable.idempotence") and case.number(TIMEOUT) > case.number(TRANSACTION)
        ),
    ),
]
ALWAYS: list[tuple[str, str, Callable[[Case], bool]]] = [
    (
        "reconnect.backoff.max.ms",
        "reconnect.backoff.max.ms must be at least reconnect.backoff.ms",
        lambda case: case.number("reconnect.backoff.max.ms") < case.number("reconnect.backoff.ms"),
    ),
    (
        "enable.gapless.guarantee",
        "enable.gapless.guarantee requires enable.idempotence=true",
        lambda case: case.on("enable.gapless.guarantee") and not case.on("enable.idempotence"),
    ),
]


def refuse(case: Case) -> None:
    """All that keeps the producer from starting; it would tell the first, we tell every one."""
    rules = ALWAYS + (STRICT if case.on("enable.idempotence") else [])
    for key, says, holds in rules + (TRANSACTIONAL if case.on("transactional.id") else []):
        if holds(case):
            case.outcome.refuse(says, key)
    says = "delivery.timeout.ms must be greater than linger.ms"
    if expires_waiting(case) and case.asked & OF_TOPICS:
        case.outcome.refuse(says, TIMEOUT, LINGER)
    elif expires_waiting(case):
        case.outcome.never_sends = f"it starts, and then refuses every record, because {says}"
