"""What an event log says of a run: its tasks, the driver alone, and what more workers leave."""

import json

import pytest

from lab.stages.tasks import Task, covered, summarize, table, tasks_of


def log_line(stage: int, began: int, ended: int) -> str:
    """Return a line as Spark writes it."""
    info = {"Launch Time": began, "Finish Time": ended}
    return json.dumps({"Event": "SparkListenerTaskEnd", "Stage ID": stage, "Task Info": info})


def test_only_tasks_are_read() -> None:
    """A log has many other events."""
    log = ['{"Event": "SparkListenerLogStart"}', log_line(3, 1000, 2500)]
    [task] = tasks_of(log)
    assert task == Task(3, 1000, 2500)
    assert task.seconds == 1.5


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], 0),
        ([(0, 10)], 10),
        ([(0, 10), (2, 8)], 10),
        ([(0, 10), (5, 20), (30, 40)], 30),
        ([(90, 200)], 10),
    ],
    ids=["none", "one", "one within another", "a gap", "longer than the phase"],
)
def test_time_in_which_a_task_ran_counts_once(spans: list[tuple[int, int]], expected: int) -> None:
    """However many ran at once, and only within the phase."""
    tasks = [Task(0, *span) for span in spans]
    assert covered((0, 100), tasks) == expected


def test_more_workers_leave_the_driver_and_the_longest_task_of_each_stage() -> None:
    """Two stages of two tasks in ten seconds, of which two are the driver's alone."""
    tasks = [
        Task(1, 0, 3_000),
        Task(1, 0, 1_000),
        Task(2, 4_000, 9_000),
        Task(2, 4_000, 6_000),
        Task(3, 10_000, 11_000),
    ]
    one, other = summarize({"read": (0, 10_000), "judge": (10_000, 11_000)}, tasks)
    assert (one.seconds, one.tasks, one.busy, one.longest) == (10, 4, 11, 5)
    assert (one.alone, one.chain, one.least) == (2, 8, 10)
    assert (other.tasks, other.alone, other.least) == (1, 0, 1)
    header, _, *rows = table({1: [one, other], 2: [one, other]})
    assert header.startswith("| phase | workers |")
    assert [row.split(" | ")[:2] for row in rows] == [
        ["| read", "1"], ["| read", "2"], ["| judge", "1"], ["| judge", "2"]
    ]  # fmt: skip
