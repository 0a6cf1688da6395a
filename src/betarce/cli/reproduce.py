"""`betarce reproduce`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from betarce.cli.friendly import friendly_errors, friendly_warnings
from betarce.cli.layout import new_table, print_json, share
from betarce.cli.options import Json, check_choice, check_jobs
from betarce.safe_text import in_terminal

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table


def reproduce(
    plan: Annotated[str, typer.Argument(help="smoke, paper, confidence, members, or a TOML file.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder of results; what is finished in it is kept.", show_default=False)],
    jobs: Annotated[int, typer.Option(help="Cells at a time on this machine; -1 for one per core.")] = -1,
    engine: Annotated[
        str, typer.Option(help="Where cells are computed: local, dask or ray. The files are written here.")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            help="Running cluster: tcp://HOST:8786 for dask; auto, HOST:6379 or ray://HOST:10001 for ray. Without it a "
            "cluster of --jobs workers is started on this machine for the run.",
            show_default=False,
        ),
    ] = None,
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
    from rich.markup import escape

    from betarce.cli.terminal import Console
    from betarce.engines.engine import ENGINES
    from betarce.errors import InvalidInput
    from betarce.paper.plan_file import plan_text, read_plan
    from betarce.paper.records import breakdowns, finished_cells, records_table, summary
    from betarce.paper.reproduction import write_reproduction
    from betarce.paper.reuse import Reuse
    from betarce.paper.runner import State, choose_cells, run_plan, survey

    console = Console(highlight=False, stderr=json)
    with friendly_errors():
        check_choice("--engine", engine, ENGINES)
        check_jobs(jobs)
        chosen = read_plan(plan)
        if rerun and reuse is None:
            raise InvalidInput("--rerun needs --reuse, the records for all other methods. Without both, all are run.")
        earlier = None if reuse is None else Reuse.of(reuse, chosen, rerun or ())
        cells = choose_cells(chosen, only)
        states = survey(chosen, out, cells)
        counts = {state: list(states.values()).count(state) for state in get_args(State)}
        shown = ", ".join(f"{n} {state}" for state, n in counts.items() if n)
        console.print(f"{len(cells)} cells: {shown}.")
        if dry_run:
            for cell, state in states.items():
                console.print(f"  {escape(cell.name)}: {state}", soft_wrap=True)
            if json:
                print_json({"cells": {cell.name: state for cell, state in states.items()}})
            return
        where: dict[str, Any] = {"n_jobs": jobs, "engine": engine, "address": address}
        report = run_plan(chosen, out, only=only, retry_failed=retry_failed, reuse=earlier, **where)
        for name in report.damaged:
            console.print(f"The file of {escape(name)} was damaged; the cell was run again.", soft_wrap=True)
        finished = finished_cells(chosen, out, chosen.cells)
        records = records_table([(cell, content) for cell, content in finished if only in cell.name])
        console.print(methods_table(summary(records)))
        broken = breakdowns(records)
        for method, base, reason, n in broken:
            start = f" from {escape(base)}" if base else ""
            console.print(f"{escape(method)}{start} broke down in {n} cells: {escape(reason)}", soft_wrap=True)
        if broken:
            console.print("When the reason is gone, --retry-failed runs these cells again.")
        console.print(
            f"{len(report.done)} cells done, {len(report.skipped)} skipped as finished before, "
            f"{len(report.failed)} failed. Records are in {escape(str(out / 'cells'))}.",
            soft_wrap=True,
        )
        if finished:
            with friendly_warnings(), console.status("Writing tables and figures"):
                write_reproduction(chosen, finished, out / "report", plan_text=plan_text(plan))
            console.print(f"Tables and figures: {escape(str(out / 'report' / 'README.md'))}.", soft_wrap=True)
    if json:
        print_json({**asdict(report), "records": str(out / "cells"), "report": str(out / "report" / "README.md")})
    for name, error in report.failed.items():
        typer.secho(in_terminal(f"Failed: {name}: {error}"), err=True, fg="red")
    if report.failed:
        raise typer.Exit(1)


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
