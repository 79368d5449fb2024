"""The service's own sums: it does not start with settings under which it would lose its partitions."""

import pytest
from pydantic import ValidationError

from service.settings import Settings


def test_the_defaults_hold() -> None:
    """As they come, the settings leave a batch twice the time that its steps may take."""
    settings = Settings()
    assert settings.max_poll_interval_ms >= 2000 * settings.worst_batch_seconds


@pytest.mark.parametrize(
    "changed",
    [
        {"max_poll_interval_ms": 200_099},
        {"database_timeout_seconds": 14.0},
        {"audit_timeout_seconds": 30.0},
    ],
)
def test_sums_that_do_not_hold_refuse_the_start(changed: dict[str, float]) -> None:
    """The sentence names each setting with its number, the sum, and the way out."""
    with pytest.raises(
        ValidationError, match=r"MAX_POLL_INTERVAL_MS=.* DATABASE_TIMEOUT_SECONDS=.*Raise the first"
    ) as no:
        Settings(**changed)  # type: ignore[arg-type]
    assert all(f"{name.upper()}={value:g}" in str(no.value) for name, value in changed.items())


def test_the_least_that_holds_is_taken() -> None:
    """The bound is where the sum is, not somewhere near it."""
    assert Settings(max_poll_interval_ms=200_100).worst_batch_seconds == pytest.approx(100.05)
