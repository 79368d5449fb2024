"""The template, as one repository for all tests of a session."""

from pathlib import Path

import pytest

from tests.copy.copies import Copy, make_copy, make_template

# What a person writes in a copy; it fits there alone.
collect_ignore = ["payments", "second_subscriber"]


# No copy has anything of tools/, and Copier spends two fifths of its time to leave it behind.
# So tools/copy alone stands for it here.
LEFT_BEHIND = ("tools/check/", "tools/lab/")


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return this repository as a template that Copier can read."""
    return make_template(tmp_path_factory.mktemp("template"), without=LEFT_BEHIND)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder where mypy remembers what it read, for all copies."""
    return tmp_path_factory.mktemp("mypy")


@pytest.fixture(scope="session")
def payments(template: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Return a copy for payments, without extras; tests read it and change nothing."""
    return make_copy(template, tmp_path_factory.mktemp("copies") / "payments", cache)
