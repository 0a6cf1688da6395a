"""`betarce reproduce`: the experiments of a plan, run and written up."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, get_args

import typer

from betarce.cli.friendly import friendly_errors, friendly_warnings
from betarce.cli.layout import new_table, print_json, share
from betarce.cli.options import Json, check_choice, check_jobs
from betarce.safe_text import in_terminal

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from betarce.cli.terminal import Console
    from betarce.paper.guarantee.plan import GuaranteePlan
    from betarce.paper.plan import Plan
    from betarce.paper.runner import Report, State


Address = Annotated[
    str | None,
    typer.Option(
        help="Running cluster: tcp://HOST:8786 for dask; auto, HOST:6379 or ray://HOST:10001 for ray. Without it a "
        "cluster of --jobs workers is started on this machine for the run.",
        show_default=False,
    ),
]
PlanName = Annotated[
    str, typer.Argument(help="smoke, paper, confidence, members, guarantee, or a TOML file.", show_default=False)
]


def reproduce(
    plan: PlanName,
    out: Annotated[Path, typer.Option(help="Folder of results; what is finished in it is kept.", show_default=False)],
    jobs: Annotated[int, typer.Option(help="Cells at a time on this machine; -1 for one per core.")] = -1,
    engine: Annotated[
        str, typer.Option(help="Where cells are computed: local, dask or ray. The files are written here.")
    ] = "local",
    address: Address = None,
    only: Annotated[str, typer.Option(help="Run only cells whose name holds this.")] = "",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run cells again in which some method could not run.")
    ] = False,
    reuse: Annotated[
        Path | None,
        typer.Option(help="records.csv.gz of an earlier run, for all methods but --rerun.", show_default=False),
    ] = None,
    rerun: Annotated[
        list[str] | None, typer.Option(help="Method to run all the same; may be given more than once.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and run nothing.")] = False,
    json: Json = False,
) -> None:
    """Run the experiments of a plan, then write its tables and figures; stop at any time, the same command goes on."""
    from betarce.cli.terminal import Console
    from betarce.engines.engine import ENGINES
    from betarce.paper.guarantee.plan import GuaranteePlan
    from betarce.paper.plan_file import read_experiment

    console = Console(highlight=False, stderr=json)
    with friendly_errors():
        check_choice("--engine", engine, ENGINES)
        check_jobs(jobs)
        chosen = read_experiment(plan)
        work: Work = (
            _Guarantee(chosen, out, only, reuse, rerun, retry_failed)
            if isinstance(chosen, GuaranteePlan)
            else _Comparison(chosen, plan, out, only, reuse, rerun, retry_failed)
        )
        states = work.states()
        _announce(states, console, each=dry_run)
        if dry_run:
            if json:
                print_json({"cells": states})
            return
        report = work.run(n_jobs=jobs, engine=engine, address=address)
        _tell(report, console, out)
        page = work.write(console)
    if json:
        print_json({**asdict(report), "records": str(out / "cells"), "report": str(page)})
    for name, error in report.failed.items():
        typer.secho(in_terminal(f"Failed: {name}: {error}"), err=True, fg="red")
    if report.failed:
        raise typer.Exit(1)


class Work(Protocol):
    """A plan of some kind, with all that was asked for."""

    def states(self) -> dict[str, "State"]:
        """Say how far each cell is, by name."""
        ...

    def run(self, **where: Any) -> "Report":
        """Run the cells that are not finished."""
        ...

    def write(self, console: "Console") -> Path:
        """Write what came out, say so, and name the page to begin with."""
        ...


class _Comparison:
    """Methods side by side, as in the paper."""

    def __init__(
        self,
        chosen: "Plan",
        name: str,
        out: Path,
        only: str,
        reuse: Path | None,
        rerun: list[str] | None,
        retry_failed: bool,
    ) -> None:
        from betarce.errors import InvalidInput
        from betarce.paper.reuse import Reuse

        if rerun and reuse is None:
            raise InvalidInput("--rerun needs --reuse, the records for all other methods. Without both, all are run.")
        self._earlier = None if reuse is None else Reuse.of(reuse, chosen, rerun or ())
        self._plan, self._name, self._out, self._only, self._retry = chosen, name, out, only, retry_failed

    def states(self) -> dict[str, "State"]:
        from betarce.paper.runner import choose_cells, survey

        found = survey(self._plan, self._out, choose_cells(self._plan, self._only))
        return {cell.name: state for cell, state in found.items()}

    def run(self, **where: Any) -> "Report":
        from betarce.paper.runner import run_plan

        return run_plan(self._plan, self._out, only=self._only, retry_failed=self._retry, reuse=self._earlier, **where)

    def write(self, console: "Console") -> Path:
        from rich.markup import escape

        from betarce.paper.plan_file import plan_text
        from betarce.paper.records import breakdowns, finished_cells, records_table, summary
        from betarce.paper.reproduction import write_reproduction

        finished = finished_cells(self._plan, self._out, self._plan.cells)
        records = records_table([(cell, content) for cell, content in finished if self._only in cell.name])
        console.print(methods_table(summary(records)))
        broken = breakdowns(records)
        for method, base, reason, n in broken:
            start = f" from {escape(base)}" if base else ""
            console.print(f"{escape(method)}{start} broke down in {n} cells: {escape(reason)}", soft_wrap=True)
        if broken:
            console.print("When the reason is gone, --retry-failed runs these cells again.")
        page = self._out / "report" / "README.md"
        if finished:
            with friendly_warnings(), console.status("Writing tables and figures"):
                write_reproduction(self._plan, finished, self._out / "report", plan_text=plan_text(self._name))
            console.print(f"Tables and figures: {escape(str(page))}.", soft_wrap=True)
        return page


class _Guarantee:
    """The simulation of the guarantee over fits."""

    def __init__(
        self,
        chosen: "GuaranteePlan",
        out: Path,
        only: str,
        reuse: Path | None,
        rerun: list[str] | None,
        retry_failed: bool,
    ) -> None:
        from betarce.errors import InvalidInput

        for option, value in (("--reuse", reuse), ("--rerun", rerun), ("--retry-failed", retry_failed)):
            if value:
                raise InvalidInput(f"{option} is for comparisons of methods, not for a simulation of the guarantee.")
        self._plan, self._out, self._only = chosen, out, only

    def states(self) -> dict[str, "State"]:
        from betarce.paper.guarantee.run import guarantee_cells, guarantee_states

        found = guarantee_states(self._plan, self._out, guarantee_cells(self._plan, self._only))
        return {cell.name: state for cell, state in found.items()}

    def run(self, **where: Any) -> "Report":
        from betarce.paper.guarantee.run import run_guarantee

        return run_guarantee(self._plan, self._out, only=self._only, **where)

    def write(self, console: "Console") -> Path:
        from rich.markup import escape

        from betarce.paper.guarantee.run import write_guarantee

        files = write_guarantee(self._plan, self._out)
        for path in files.values():
            console.print(f"Wrote {escape(str(path))}", soft_wrap=True)
        return files.get("summary", self._out / "report")


def _announce(states: Mapping[str, "State"], console: "Console", *, each: bool) -> None:
    """Say how far the cells are."""
    from rich.markup import escape

    from betarce.paper.runner import State

    counts = {state: list(states.values()).count(state) for state in get_args(State)}
    console.print(f"{len(states)} cells: {', '.join(f'{n} {state}' for state, n in counts.items() if n)}.")
    for name, state in states.items() if each else ():
        console.print(f"  {escape(name)}: {state}", soft_wrap=True)


def _tell(report: "Report", console: "Console", out: Path) -> None:
    """Say what became of the cells."""
    from rich.markup import escape

    for name in report.damaged:
        console.print(f"The file of {escape(name)} was damaged; the cell was run again.", soft_wrap=True)
    console.print(
        f"{len(report.done)} cells done, {len(report.skipped)} skipped as finished before, "
        f"{len(report.failed)} failed. Records are in {escape(str(out / 'cells'))}.",
        soft_wrap=True,
    )


def methods_table(summary: "pd.DataFrame") -> "Table":
    """Lay out what each method of a plan reached: answers, and means over them."""
    from rich.markup import escape

    several = summary.loc[summary["base"] != "", "base"].nunique() > 1
    known = ["delta", *["confidence"] * (summary["confidence"].nunique() > 1)]
    measures = ["proximity_l1", "distance_to_base", "ms"]
    table = new_table("", "method", *known, "answers", "robust", "L1", "to base", "ms")
    table.columns[0].no_wrap = True
    for line in summary.to_dict("records"):
        base = f"\n  from {line['base']}" if several and line["base"] else ""
        table.add_row(
            escape(f"{line['method']}{base}"),
            *(f"{line[name]:g}".replace("nan", "-") for name in known),
            f"{round(line['found'] * line['rows'])}/{line['rows']}",
            share(line["robustness"]),
            *(f"{line[name]:.3g}".replace("nan", "-") for name in measures),
        )
    return table
