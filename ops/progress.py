"""What is being done and for how long: live on a terminal, one line at the end elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Note = Callable[[str], None]  # adds what is known so far to the line


@contextmanager
def step(text: str) -> Iterator[Note]:
    """One step; standard error, so that standard output holds nothing but results."""
    started = time.monotonic()
    with live(text) if sys.stderr.isatty() else quiet(text) as (note, latest):
        try:
            yield note
        except BaseException:
            tell(f"{latest()}: not done after {time.monotonic() - started:.1f} s")
            raise
    tell(f"{latest()}: {time.monotonic() - started:.1f} s")


def tell(line: str) -> None:
    """A line for whoever watches; a terminal that was closed must not keep us from stopping the stack."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


@contextmanager
def quiet(text: str) -> Iterator[tuple[Note, Callable[[], str]]]:
    """Nothing until the step is through."""
    texts = [text]
    yield lambda more: texts.append(f"{text}, {more}"), lambda: texts[-1]


@contextmanager
def live(text: str) -> Iterator[tuple[Note, Callable[[], str]]]:
    """A line that moves; rich leaves the colours out when NO_COLOR says so."""
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text)
        yield (
            lambda more: progress.update(task, description=f"{text}, {more}"),
            lambda: progress.tasks[0].description,
        )
