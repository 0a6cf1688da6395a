"""Does the promise hold, in every fit? Certified points against fresh members that nothing has seen.

Run: ``make guarantee``. A *cell* is a data set, a model family, a space of retrained models and a seed; it has one
fitted model. A *fit* is one draw of search and certifying members by `BetaRCE` with a `random_state` of its own. Every
cell has 20 fits; in each of them the same 60 rows are explained. What counts is the share of the points handed out by a
fit whose true validity rate is at least delta: its mean, 5th percentile and minimum over the fits.

The truth comes from an audit: 2,048 fresh members (512 networks), shared by all fits of a cell and drawn under a seed
that nothing else uses. The error of a mean contains the variation between fits and the error of the audit itself; the
module `guarantee_errors` derives it.

Three methods: "ours" (post-hoc, closest to a base that Growing Spheres found), "closest" (`base=None`, closest to the
row) and "paper" (the search of the paper, certified by the members that steered it, with the Jeffreys prior).

Each cell is one file under ``docs/results/guarantee``, written whole when it is done, and skipped when it is there; the
tables in ``docs/guarantee.md`` are made from the files. Set ``BETARCE_RESULTS`` to another folder to try things out:
the page is then left alone.
"""

import argparse
import json
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import guarantee_reference
from betarce.errors import DataUnavailable
from betarce.storage.files import write_whole
from guarantee_cells import DATA, FAMILIES, GUARANTEES, N_FITS, SPACES, Cell, grid
from guarantee_report import read_cells, report
from guarantee_simulation import settings_of, simulate
from pages import replace_block

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guarantee.md"
RESULTS = Path(os.environ.get("BETARCE_RESULTS", ROOT / "docs" / "results")) / "guarantee"
Task = Callable[[], dict[str, Any]]
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def asked() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--family", nargs="+", choices=FAMILIES, default=FAMILIES)
    parser.add_argument("--space", nargs="+", choices=SPACES, default=SPACES)
    parser.add_argument("--seed", nargs="+", type=int, default=[1])
    parser.add_argument("--cells", nargs="+", help="names of cells, such as diabetes-logistic-bootstrap-1")
    parser.add_argument("--guarantees", choices=("default", "all"), default="default")
    parser.add_argument("--fits", type=int, default=N_FITS, help="fits of every cell; fewer to try things out")
    parser.add_argument("--audit", type=int, help="audit members of every cell; fewer to try things out")
    parser.add_argument("--jobs", type=int, default=2, help="cells at the same time, on one thread each")
    return parser.parse_args()


def chosen_cells(arguments: argparse.Namespace) -> list[Cell]:
    """Give the cells that the options ask for, those that take longest first."""
    guarantees = GUARANTEES if arguments.guarantees == "all" else GUARANTEES[:1]
    cells = [cell for guarantee in guarantees for seed in arguments.seed for cell in grid(seed, guarantee)]
    if arguments.cells:
        unknown = set(arguments.cells) - {cell.name for cell in cells}
        if unknown:
            sys.exit(f"--cells: no cell is called {sorted(unknown)[0]!r}; one is called {cells[0].name!r}.")
        return [cell for cell in cells if cell.name in arguments.cells]
    wanted = (arguments.data, arguments.family, arguments.space)
    return [
        cell
        for cell in cells
        if all(value in some for value, some in zip((cell.data, cell.family, cell.space), wanted, strict=True))
    ]


def run(tasks: dict[str, Task], n_jobs: int, console: Console) -> list[str]:
    """Run what has no file yet, several at a time; give the names of those that failed."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    missing = {name: task for name, task in tasks.items() if not path_of(name).exists()}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    failed = []
    with Progress(*columns, console=console) as progress, workers(n_jobs) as pool:
        bar = progress.add_task("Cells", total=len(missing))
        futures = {pool.submit(work, task, path_of(name)): name for name, task in missing.items()}
        try:
            for future in as_completed(futures):
                line, ok = outcome(future)
                console.print(f"{futures[future]}: {line}", highlight=False, soft_wrap=True)
                failed += [] if ok else [futures[future]]
                progress.advance(bar)
        except KeyboardInterrupt:
            progress.stop()
            console.print("Stopped. What was finished is kept; run the same command again to go on.")
            os._exit(130)  # the workers see that and end, too; files are written whole or not at all
    return failed


def workers(n_jobs: int) -> ProcessPoolExecutor:
    """Start processes that run one cell each, on one thread.

    A new process for each cell gives all memory back. Forked ones would share locks with threads that they do not have.
    """
    return ProcessPoolExecutor(
        n_jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=end_with_parent,
        initargs=(os.getpid(),),
        max_tasks_per_child=1,
    )


def work(task: Task, path: Path) -> str:
    """Run one cell in a process of its own and keep what comes out, whole or not at all."""
    started = time.perf_counter()
    result = task()
    write_whole(path, json.dumps(result))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds, cpu = time.perf_counter() - started, time.process_time()
    return f"{seconds:.0f} s, {cpu:.0f} s of CPU time, {memory:.0f} MB at most"


def outcome(future: "Future[str]") -> tuple[str, bool]:
    """Say in a line what became of a cell, and whether that is fine."""
    error = future.exception()
    if error is None:
        return future.result(), True
    if isinstance(error, DataUnavailable):
        return f"skipped. {error}", True
    return f"failed. {type(error).__name__}: {error}", False


def end_with_parent(parent: int) -> None:
    """Make this process end soon after the one that started it, however that one ended; and not before."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def warn_of_other_settings(cells: list[Cell], arguments: argparse.Namespace, console: Console) -> None:
    """Name the cells that were run, but not like this."""
    for cell in cells:
        if path_of(cell.name).exists():
            before = json.loads(path_of(cell.name).read_text()).get("asked")
            if before != settings_of(cell, arguments.fits, arguments.audit):
                console.print(f"{cell.name}: run before with other settings. Delete its file to run it again.")


def path_of(name: str) -> Path:
    """Say where the results of a cell are."""
    return RESULTS / f"{name}.json"


def write_page(blocks: dict[str, str], console: Console) -> None:
    """Print the tables; put them into the page, unless this was a trial."""
    for name, text in blocks.items():
        if text:
            print(text, end="\n\n")
            if "BETARCE_RESULTS" not in os.environ:
                replace_block(PAGE, name, text)
    if "BETARCE_RESULTS" in os.environ:
        console.print(f"BETARCE_RESULTS is set: {PAGE.name} was not changed.")


def main(arguments: argparse.Namespace) -> int:
    """Run what is missing, then write the tables."""
    console = Console(stderr=True)
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    cells = chosen_cells(arguments)
    if not cells:
        sys.exit("No cell is like that: Seed and Architecture are simulated for diabetes and breast_cancer only.")
    warn_of_other_settings(cells, arguments, console)
    tasks: dict[str, Task] = {cell.name: partial(simulate, cell, arguments.fits, arguments.audit) for cell in cells}
    if len(cells) == len(grid(1)):
        tasks |= guarantee_reference.tasks()
    failed = run(tasks, arguments.jobs, console)
    blocks = report(read_cells(RESULTS, arguments.seed))
    write_page(blocks | {"reference": guarantee_reference.report(RESULTS)}, console)
    if failed:
        console.print(f"{len(failed)} failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(asked()))
