"""compose.cluster.yaml: the same demo with the same verdict, on parts of which some may die."""

from collections.abc import Iterator

import pytest

from tests.compose.project import Project
from tests.reconciliation import GOOD

pytestmark = pytest.mark.prove
FILES = {
    "as it is": ["compose.cluster.yaml"],
    "secured": ["compose.secure.yaml", "compose.cluster.yaml", "compose.cluster.secure.yaml"],
}


@pytest.fixture(scope="module", params=FILES.values(), ids=list(FILES))
def project(request: pytest.FixtureRequest) -> Iterator[Project]:
    """Have the cluster up."""
    with Project(*request.param).running() as project:
        yield project


def test_the_demo_of_a_cluster_ends_with_its_verdict(project: Project) -> None:
    """Both Spark workers have had work, and the lake is in the bucket."""
    done = project.run("run", "--rm", "-T", "demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == GOOD
    for worker in ("spark-worker-1", "spark-worker-2"):
        assert "Asked to launch executor" in project.good("logs", "--no-color", worker)
    landed = project.good("exec", "-T", "lake-store", "ls", "/data/lake/delta/landed")
    assert "order.events" in landed.split()


def test_who_may_die_dies(project: Project) -> None:
    """A broker, a Connect worker and a Spark worker are killed, and all reconciles without them."""
    project.good("kill", "kafka-2", "connect", "spark-worker-1")
    project.good("run", "--rm", "-T", "--no-deps", "demo", "produce", "--orders", "500")
    done = project.run("run", "--rm", "-T", "--no-deps", "reconcile", "--full")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == GOOD
