"""A progress bar for long work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int], None]


@contextmanager
def progress(title: str, total: int, *, verbose: int = 0) -> Iterator[Advance]:
    """Show a progress bar on a terminal or in a notebook; stay silent in logs and pipes.

    Parameters
    ----------
    title : str
        What is being done.
    total : int
        The number of steps.
    verbose : int
        0: a bar on a terminal or in a notebook, nothing elsewhere. 1: also a line in logs when the work is done. -1:
        nothing.

    Yields
    ------
    callable
        To be called with the number of steps just done.

    Examples
    --------
    >>> with progress("Counting", total=3, verbose=-1) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if verbose < 0:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    visible = console.is_terminal or console.is_jupyter
    with Progress(
        *columns,
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=not visible,
        transient=verbose == 0,
    ) as bar:
        task = bar.add_task(title, total=total)
        yield lambda steps: bar.advance(task, steps)
    if verbose > 0 and not visible:
        console.print(f"{title}: {total} done")


def say(text: str, *, verbose: int = 0) -> None:
    """Print a sentence before long work: on a terminal or in a notebook, in logs only with `verbose` above 0."""
    if verbose < 0:
        return
    from rich.console import Console

    console = Console(stderr=True)
    if verbose > 0 or console.is_terminal or console.is_jupyter:
        console.print(text, markup=False, highlight=False)


def about(seconds: float) -> str:
    """Write a duration in rounded units.

    Examples
    --------
    >>> [about(seconds) for seconds in (0.2, 8.4, 44, 100, 1500, 9000)]
    ['a second', '8 s', '40 s', '2 minutes', '25 minutes', '2.5 hours']
    """
    if seconds < 1:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds < 10 else f"{round(seconds, -1):.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
