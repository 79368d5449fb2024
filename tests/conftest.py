"""The embedded stack, started once for every test that needs it, and reused when it is up already."""

import os
from collections.abc import Iterator

import pytest

from ops.settings import ROOT, Settings
from ops.stack.stack import Stack

PORTS = int(os.environ.get("TEST_PORTS", "15500"))  # the first of a hundred ports for the tests' own stack


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """Real Postgres, Kafka, Connect, audit receiver and service, in a folder and on ports of their own."""
    settings = Settings(
        run_dir=ROOT / ".run" / "test",
        jars_dir=ROOT / ".run" / "jars",
        postgres_port=PORTS + 32,
        kafka_port=PORTS + 92,
        kafka_controller_port=PORTS + 93,
        connect_port=PORTS + 83,
        audit_port=PORTS + 81,
        service_port=PORTS + 10,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SESSION_TIMEOUT_MS", "6000")  # the broker's least: a killed worker is missed sooner
        found = Stack(settings)
        with found.running():
            for name, value in settings.environment().items():
                patch.setenv(name, value)
            yield found
