"""Run the simulation cell by cell, then write its tables."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from betarce.errors import CorruptFile, InvalidInput
from betarce.paper.guarantee.cells import Cell
from betarce.paper.guarantee.plan import GuaranteePlan
from betarce.paper.guarantee.recorded import RecordedCell, compare, recorded_cells, recorded_table
from betarce.paper.guarantee.report import report
from betarce.paper.guarantee.simulation import FORMAT, settings_of, simulate
from betarce.paper.runner import Report, State, run_cells
from betarce.storage.files import read_text, seal, unseal, write_whole

AnyCell = Cell | RecordedCell


def guarantee_cells(plan: GuaranteePlan, only: str = "") -> list[AnyCell]:
    """Give the cells whose name holds `only`, and the authors' recorded runs where there are some."""
    everything: list[AnyCell] = [*plan.cells, *recorded_cells()]
    cells = [cell for cell in everything if only in cell.name]
    if not cells:
        raise InvalidInput(f"`only` must be part of the name of a cell, such as {plan.cells[0].name!r}; got {only!r}.")
    return cells


def guarantee_states(
    plan: GuaranteePlan, out: str | os.PathLike[str], cells: Sequence[AnyCell]
) -> dict[AnyCell, State]:
    """Say how far each cell is.

    Raises
    ------
    InvalidInput
        If a cell was simulated with other settings; its file is left as it is.
    """
    return {cell: _state(plan, cell, out) for cell in cells}


def run_guarantee(
    plan: GuaranteePlan,
    out: str | os.PathLike[str],
    *,
    only: str = "",
    n_jobs: int | None = None,
    engine: str = "local",
    address: str | None = None,
    verbose: int = 0,
) -> Report:
    """Simulate the cells that are not finished; parameters as in `betarce.paper.runner.run_plan`."""
    states = guarantee_states(plan, out, guarantee_cells(plan, only))
    return run_cells(
        states,
        partial(_text, plan=plan),
        partial(path_of, out=out),
        n_jobs=n_jobs,
        engine=engine,
        address=address,
        verbose=verbose,
    )


def path_of(cell: AnyCell, out: str | os.PathLike[str]) -> Path:
    """Say where the file of a cell is."""
    return Path(out) / "cells" / f"{cell.name}.json"


def write_guarantee(plan: GuaranteePlan, out: str | os.PathLike[str]) -> dict[str, Path]:
    """Write the tables of all finished cells as Markdown; give their files by name."""
    finished = [
        (cell, _read(cell, out))
        for cell, state in guarantee_states(plan, out, guarantee_cells(plan)).items()
        if state == "finished"
    ]
    blocks = report([content for cell, content in finished if isinstance(cell, Cell)])
    blocks["reference"] = recorded_table(content for cell, content in finished if isinstance(cell, RecordedCell))
    folder = Path(out) / "report"
    folder.mkdir(parents=True, exist_ok=True)
    return {name: write_whole(folder / f"{name}.md", text + "\n") for name, text in blocks.items() if text}


def _text(cell: AnyCell, plan: GuaranteePlan) -> str:
    return seal(compare(cell) if isinstance(cell, RecordedCell) else simulate(cell, plan.fits, plan.audit_members))


def _read(cell: AnyCell, out: str | os.PathLike[str]) -> dict[str, Any]:
    path = path_of(cell, out)
    try:
        return unseal(read_text(path))
    except CorruptFile as error:
        raise CorruptFile(f"{path} cannot be used: {error}.") from error


def _state(plan: GuaranteePlan, cell: AnyCell, out: str | os.PathLike[str]) -> State:
    try:
        content = _read(cell, out)
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except CorruptFile:
        return "damaged"
    if isinstance(cell, RecordedCell):
        return "finished"
    stated = (content.get("format"), content.get("cell"), content.get("asked"))
    if stated != (FORMAT, asdict(cell), settings_of(cell, plan.fits, plan.audit_members)):
        raise InvalidInput(
            f"{path_of(cell, out)} was simulated with other settings. It was left as it is: choose another folder for "
            "the results, or move the file away."
        )
    return "finished"
