"""What Spark's event log says of the tasks of a run."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

Moments = tuple[int, int]  # milliseconds since 1970


class Task(NamedTuple):
    """One task, and the stage that it belongs to."""

    stage: int
    began: int
    ended: int

    @property
    def seconds(self) -> float:
        """Return how long it took."""
        return (self.ended - self.began) / 1000


class Phase(NamedTuple):
    """A part of the work, and how much of it more workers would not make shorter."""

    name: str
    seconds: float
    tasks: int
    busy: float  # seconds of all tasks together
    longest: float  # seconds of the longest task
    alone: float  # seconds in which no task ran: the driver plans, asks, and commits
    chain: float  # seconds of the longest task of each stage, one after the other

    @property
    def least(self) -> float:
        """Return the seconds that are left with as many workers as there are tasks."""
        return min(self.seconds, self.alone + self.chain)


def read_tasks(folder: Path) -> list[Task]:
    """Return the tasks of all runs whose event logs are in this folder."""
    files = sorted(folder.rglob("events_*"))
    return [task for file in files for task in tasks_of(file.read_text().splitlines())]


def tasks_of(lines: Iterable[str]) -> Iterator[Task]:
    """Yield the tasks of an event log."""
    for line in lines:
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd":
            info = event["Task Info"]
            yield Task(event["Stage ID"], info["Launch Time"], info["Finish Time"])


def summarize(phases: Mapping[str, Moments], tasks: Sequence[Task]) -> list[Phase]:
    """Return what each phase has spent; a task belongs to the phase in which it began."""
    return [
        summarize_phase(name, moments, [task for task in tasks if is_within(task, moments)])
        for name, moments in phases.items()
    ]


def is_within(task: Task, moments: Moments) -> bool:
    """Return whether a task began in this time."""
    began, ended = moments
    return began <= task.began < ended


def summarize_phase(name: str, moments: Moments, tasks: Sequence[Task]) -> Phase:
    """Return what one phase has spent."""
    began, ended = moments
    longest: dict[int, float] = {}
    for task in tasks:
        longest[task.stage] = max(task.seconds, longest.get(task.stage, 0))
    return Phase(
        name=name,
        seconds=(ended - began) / 1000,
        tasks=len(tasks),
        busy=sum(task.seconds for task in tasks),
        longest=max(longest.values(), default=0),
        alone=(ended - began - covered(moments, tasks)) / 1000,
        chain=sum(longest.values()),
    )


def covered(moments: Moments, tasks: Sequence[Task]) -> int:
    """Return the milliseconds of this time in which at least one task ran."""
    at, ended = moments
    total = 0
    for task in sorted(tasks, key=lambda one: one.began):
        first = max(at, task.began)
        last = min(ended, task.ended)
        if last > first:
            total += last - first
            at = last
    return total


def table(runs: Mapping[int, Sequence[Phase]]) -> Iterator[str]:
    """Yield the lines of a table: each phase with each number of workers."""
    yield "| phase | workers | seconds | tasks | longest task | driver alone | at least |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    names = [phase.name for phase in next(iter(runs.values()))]
    for number, name in enumerate(names):
        for workers, phases in runs.items():
            one = phases[number]
            yield (
                f"| {name} | {workers} | {one.seconds:.1f} | {one.tasks} | {one.longest:.1f} s"
                f" | {one.alone:.1f} s | {one.least:.1f} s |"
            )
