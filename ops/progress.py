"""What is being done and for how long: live on a terminal, one line at the end elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

Note = Callable[[str], None]  # adds what is known so far to the line
Latest = Callable[[], str]  # the line as it is now
Display = AbstractContextManager[tuple[Note, Latest]]


@contextmanager
def step(text: str) -> Iterator[Note]:
    """Show one step on standard error, so that standard output has nothing but results."""
    started = time.monotonic()
    on_terminal = sys.stderr.isatty()
    display: Display = live(text) if on_terminal else quiet(text)
    with display as (note, latest):
        try:
            yield note
        except BaseException:
            seconds = time.monotonic() - started
            print_line(f"{latest()}: not done after {seconds:.1f} s")
            raise
    seconds = time.monotonic() - started
    print_line(f"{latest()}: {seconds:.1f} s")


def print_line(line: str) -> None:
    """Print a line; a terminal that was closed must not keep us from stopping the stack."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


@contextmanager
def quiet(text: str) -> Iterator[tuple[Note, Latest]]:
    """Show nothing until the step is done."""
    texts = [text]

    def note(more: str) -> None:
        texts.append(f"{text}, {more}")

    yield note, lambda: texts[-1]


@contextmanager
def live(text: str) -> Iterator[tuple[Note, Latest]]:
    """Show a line that moves; rich leaves the colours out when NO_COLOR says so."""
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import (  # noqa: PLC0415
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = [
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    ]
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(text)

        def note(more: str) -> None:
            progress.update(task, description=f"{text}, {more}")

        yield note, lambda: progress.tasks[0].description
