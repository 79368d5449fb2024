"""The bench measures reconciliations that look: what is wrong ends a measurement."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from pyspark.sql import SparkSession

from lab.bench.fill import fill
from lab.bench.reconcile import (
    Lake,
    look_at_lake,
    reconcile,
    reconcile_and_seal,
    reconcile_since,
)
from lab.bench.textbook import DefectError, join_in_duckdb, join_in_spark
from lab.environment import connect_as_admin, throwaway_stack
from ops.settings import ROOT, Settings
from ops.stack.stack import silently
from spark.judging.horizon import Horizon
from spark.settings import Settings as SparkSettings

pytestmark = pytest.mark.prove
SEALED, ALL = 400, 600  # orders
Arm = Callable[[], None]


@pytest.fixture(scope="module")
def env() -> Iterator[dict[str, str]]:
    """The databases alone, empty."""
    settings = Settings(run_dir=ROOT / ".run" / "test", jars_dir=ROOT / ".run" / "jars")
    with throwaway_stack(settings, silently, "bench-reconcile", ["postgres"]) as stack:
        yield stack.env()


@pytest.fixture(scope="module")
def settings(env: dict[str, str]) -> SparkSettings:
    """Settings with which few orders are sealed and added up."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in env.items():
            patched.setenv(name, value)
        return SparkSettings(reconcile_all_orders=0, reconcile_digest_orders=0)


@pytest.fixture(scope="module")
def horizon(env: dict[str, str], settings: SparkSettings, spark: SparkSession) -> Horizon:
    """Orders that are sealed."""
    fill(env, settings, spark, 1, SEALED)
    return reconcile_and_seal(look_at_lake(spark, settings))


@pytest.fixture(scope="module")
def lake(
    env: dict[str, str], settings: SparkSettings, spark: SparkSession, horizon: Horizon
) -> Lake:
    """The same orders, and more behind the horizon."""
    fill(env, settings, spark, SEALED + 1, ALL)
    return look_at_lake(spark, settings)


def make_arms(lake: Lake, horizon: Horizon) -> dict[str, Arm]:
    """Return what the bench measures."""
    topics = lake.topics.all()
    return {
        "all": partial(reconcile, lake),
        "since": partial(reconcile_since, lake, horizon),
        "DuckDB": partial(join_in_duckdb, lake.settings, topics),
        "Spark": partial(join_in_spark, lake.spark, lake.settings, topics),
    }


def swap_fulfillment(env: dict[str, str], order: int, message_id: str) -> None:
    """Say that another message has fulfilled an order."""
    change = "update fulfillment set message_id = %s where order_id = %s"
    with connect_as_admin(env, "DATABASE_URL") as admin:
        assert admin.execute(change, [message_id, f"o-{order}"]).rowcount == 1


def finds_a_defect(arm: Arm) -> bool:
    """Return whether an arm ends with a defect."""
    try:
        arm()
    except DefectError:
        return True
    return False


@pytest.mark.parametrize(
    ("order", "who_finds_it"),
    [
        pytest.param(ALL - 10, {"all", "since", "DuckDB", "Spark"}, id="behind the horizon"),
        # Not in the share of the old that this run confirms, the first one.
        pytest.param(SEALED - 10, {"all", "DuckDB", "Spark"}, id="control: before the horizon"),
    ],
)
def test_an_arm_finds_what_is_wrong_in_what_it_looks_at(
    env: dict[str, str], lake: Lake, horizon: Horizon, order: int, who_finds_it: set[str]
) -> None:
    """Filled rows have no defect; one that is planted is found, by a run since its horizon too."""
    arms = make_arms(lake, horizon)
    assert {name for name, arm in arms.items() if finds_a_defect(arm)} == set()
    swap_fulfillment(env, order, "somebody")
    try:
        found = {name for name, arm in arms.items() if finds_a_defect(arm)}
    finally:
        swap_fulfillment(env, order, f"m-{order}")
    assert found == who_finds_it
