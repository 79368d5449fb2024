"""The service refuses settings with which it would lose its partitions."""

import pytest
from pydantic import ValidationError

from service.settings import Settings


def test_the_defaults_add_up() -> None:
    """The default settings give a batch twice the time that its steps may take."""
    settings = Settings()
    assert settings.max_poll_interval_ms >= 2000 * settings.worst_batch_seconds


@pytest.mark.parametrize(
    "changed",
    [
        {"max_poll_interval_ms": 80_009},
        {"database_timeout_seconds": 28.0},
        {"audit_timeout_seconds": 63.0},
    ],
)
def test_settings_that_do_not_add_up_are_refused(changed: dict[str, float]) -> None:
    """The refusal names each setting with its number, the sum, and the way out."""
    with pytest.raises(
        ValidationError, match=r"MAX_POLL_INTERVAL_MS=.* DATABASE_TIMEOUT_SECONDS=.*Raise the first"
    ) as no:
        Settings(**changed)  # type: ignore[arg-type]
    assert all(f"{name.upper()}={value:g}" in str(no.value) for name, value in changed.items())


def test_the_smallest_value_that_adds_up_is_accepted() -> None:
    """The smallest value that satisfies the sum is accepted."""
    assert Settings(max_poll_interval_ms=80_010).worst_batch_seconds == pytest.approx(40.005)
