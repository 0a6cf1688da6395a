"""A plan, carried out: every cell that is not finished yet becomes one file of records."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from joblib import Parallel, delayed

from betarce.errors import CorruptFile, InvalidInput
from betarce.evaluate.cell import run_cell
from betarce.evaluate.plan import Cell, Plan
from betarce.evaluate.records import path_of, read_cell, write_cell
from betarce.progress import progress

State = Literal["finished", "incomplete", "missing", "damaged"]
"""Of a cell: "incomplete" means that its file is sound, but some method could not run."""


@dataclass(frozen=True)
class Report:
    """What became of the cells of a plan.

    Attributes
    ----------
    done, skipped : list of str
        Names of cells that were run, and of those that had been run before.
    damaged : list of str
        Of those done, the ones whose file was damaged.
    failed : dict of str to str
        Names of cells that could not be run, and why.
    """

    done: list[str]
    skipped: list[str]
    damaged: list[str]
    failed: dict[str, str]


def choose_cells(plan: Plan, only: str = "") -> list[Cell]:
    """Give the cells whose name holds `only`."""
    cells = [cell for cell in plan.cells if only in cell.name]
    if not cells:
        raise InvalidInput(f"`only` must be part of the name of a cell, such as {plan.cells[0].name!r}; got {only!r}.")
    return cells


def survey(plan: Plan, out: str | os.PathLike[str], cells: Sequence[Cell]) -> dict[Cell, State]:
    """Say how far each cell is; refuse a folder that holds cells of another plan."""
    return {cell: _state(cell, plan, out) for cell in cells}


def run_plan(
    plan: Plan,
    out: str | os.PathLike[str],
    *,
    only: str = "",
    retry_failed: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Report:
    """Run the cells of a plan that are not finished.

    Parameters
    ----------
    plan : Plan
    out : path
        The folder of results; finished cells in it are kept, damaged ones run again. It may be killed at any moment
        and run again.
    only : str
        Run only cells whose name holds this.
    retry_failed : bool
        Run cells again in which some method could not run, for instance for want of an extra that is there now.
    n_jobs : int or None
        Cells at a time, as in joblib.
    verbose : int
        See `betarce.progress`.

    Raises
    ------
    InvalidInput
        If the folder holds the same cells of another plan or version; nothing was done.
    """
    cells = choose_cells(plan, only)
    states = survey(plan, out, cells)
    settled = ("finished",) if retry_failed else ("finished", "incomplete")
    open_cells = [cell for cell, state in states.items() if state not in settled]
    try:
        path_of(cells[0], out).parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InvalidInput(f"`out` must be a folder; {os.fspath(out)!r} is a file.") from None
    failed: dict[str, str] = {}
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    with progress("Running cells", total=len(open_cells), verbose=verbose) as advance:
        for name, error in parallel(delayed(_run_and_write)(cell, plan, os.fspath(out)) for cell in open_cells):
            if error:
                failed[name] = error
            advance(1)
    done = [cell.name for cell in open_cells if cell.name not in failed]
    return Report(
        done,
        [cell.name for cell in cells if cell not in open_cells],
        [cell.name for cell in open_cells if states[cell] == "damaged" and cell.name in done],
        {cell.name: failed[cell.name] for cell in open_cells if cell.name in failed},
    )


def _state(cell: Cell, plan: Plan, out: str | os.PathLike[str]) -> State:
    try:
        records = read_cell(cell, plan, out)["records"]
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except CorruptFile:
        return "damaged"
    return "incomplete" if any(record["status"] == "failed" for record in records) else "finished"


def _run_and_write(cell: Cell, plan: Plan, out: str) -> tuple[str, str]:
    """Run one cell; give its name, and why it failed if it did."""
    try:
        write_cell(cell, plan, out, run_cell(cell, plan, shared=Path(out) / "shared"))
    except Exception as error:  # noqa: BLE001 - one cell must not stop the others; its error is reported
        return cell.name, f"{type(error).__name__}: {error}"
    return cell.name, ""
