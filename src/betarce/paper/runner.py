"""Run a plan: every cell that is not finished yet becomes one file."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from betarce.engines import engine as engines
from betarce.errors import CorruptFile, InvalidInput
from betarce.paper.cell import run_cell
from betarce.paper.plan import Cell, Plan
from betarce.paper.records import cell_text, path_of, read_cell
from betarce.paper.reuse import Reuse
from betarce.progress import progress
from betarce.storage.files import write_whole

State = Literal["finished", "incomplete", "missing", "damaged"]
"""Of a cell: "incomplete" means that its file is sound, but some method could not run."""


class Named(Protocol):
    """A cell of any plan: hashable, and named after its file."""

    @property
    def name(self) -> str: ...


AnyCell = TypeVar("AnyCell", bound=Named)


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
    reuse: Reuse | None = None,
    n_jobs: int | None = None,
    engine: str = "local",
    address: str | None = None,
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
    reuse : Reuse, optional
        Records of an earlier run, for methods that have not changed since; see `betarce.paper.reuse`.
    n_jobs : int or None
        Cells at a time on this machine, as in joblib.
    engine, address : str
        Where cells are computed, see `betarce.engines.engine`. The files are written here in any case.
    verbose : int
        See `betarce.progress`.

    Raises
    ------
    InvalidInput
        If the folder holds the same cells of another plan or version, or the engine cannot be used; nothing was done.
    """
    cells = choose_cells(plan, only)
    states = survey(plan, out, cells)
    shared = Path(out).resolve() / "shared"
    open_folder(shared, out)
    return run_cells(
        states,
        partial(_computed, plan=plan, shared=shared, reuse=reuse),
        partial(path_of, out=out),
        retry_failed=retry_failed,
        n_jobs=n_jobs,
        engine=engine,
        address=address,
        verbose=verbose,
    )


def run_cells(
    states: Mapping[AnyCell, State],
    compute: Callable[[AnyCell], str],
    path: Callable[[AnyCell], Path],
    *,
    retry_failed: bool = False,
    n_jobs: int | None = None,
    engine: str = "local",
    address: str | None = None,
    verbose: int = 0,
) -> Report:
    """Run the cells that are not finished; write each file when its cell is done, whole or not at all.

    Parameters
    ----------
    states : mapping of cell to state
        All cells, and how far each is.
    compute : callable
        Takes a cell and gives the text of its file. Workers must be able to import it.
    path : callable
        Takes a cell and says where its file is.
    retry_failed, n_jobs, engine, address, verbose :
        As in `run_plan`.
    """
    settled = ("finished",) if retry_failed else ("finished", "incomplete")
    open_cells = [cell for cell, state in states.items() if state not in settled]
    failed: dict[str, str] = {}
    if open_cells:  # a cluster is not started for nothing
        open_folder(path(open_cells[0]).parent, path(open_cells[0]).parent)
        with (
            engines.engine(engine, address=address, n_jobs=n_jobs) as mapped,
            progress("Running cells", total=len(open_cells), verbose=verbose) as advance,
            closing(mapped(compute, open_cells)) as outcomes,
        ):
            for cell, text, error in outcomes:
                error = error or _write(path(cell), text)
                if error:
                    failed[cell.name] = error
                advance(1)
    done = [cell.name for cell in open_cells if cell.name not in failed]
    return Report(
        done,
        [cell.name for cell in states if cell not in open_cells],
        [cell.name for cell in open_cells if states[cell] == "damaged" and cell.name in done],
        {cell.name: failed[cell.name] for cell in open_cells if cell.name in failed},
    )


def open_folder(folder: Path, out: str | os.PathLike[str]) -> None:
    """Make a folder for results; `out` is how the user called it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InvalidInput(f"`out` must be a folder; {os.fspath(out)!r} is a file.") from None


def _state(cell: Cell, plan: Plan, out: str | os.PathLike[str]) -> State:
    try:
        records = read_cell(cell, plan, out)["records"]
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except CorruptFile:
        return "damaged"
    return "incomplete" if any(record["status"] == "failed" for record in records) else "finished"


def _write(path: Path, text: str) -> str:
    """Write the file of a cell; say why if that failed."""
    try:
        write_whole(path, text)
    except OSError as error:  # one cell must not stop the others; its error is reported
        return f"{type(error).__name__}: {error}"
    return ""


def _computed(cell: Cell, plan: Plan, shared: Path, reuse: Reuse | None) -> str:
    """Run one cell, wherever that is: a worker on another machine may not see the folder that cells share.

    Sealing takes longer than writing, so the worker does it and the driver has nothing to do but write.
    """
    return cell_text(cell, plan, run_cell(cell, plan, shared=shared if shared.is_dir() else None, reuse=reuse))
