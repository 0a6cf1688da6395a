"""`betarce certify`: a verdict on counterfactuals from any other tool."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from betarce.cli.friendly import friendly_errors, friendly_warnings, in_options
from betarce.cli.layout import print_json
from betarce.cli.options import Json, Missing, Trust
from betarce.safe_text import in_terminal

if TYPE_CHECKING:
    from betarce.runs.csv_points import JudgedPoints

_FRESH = (
    "A verdict counts for points that were made before anyone saw a verdict of this run. For points that were improved "
    "by looking at verdicts, make another run with another --seed."
)


def certify(
    points: Annotated[
        Path, typer.Argument(help="CSV file of points, exactly as they would be handed out.", show_default=False)
    ],
    from_run: Annotated[
        Path, typer.Option("--from", help="Run that `betarce fit` made: its members vote.", metavar="RUN")
    ],
    target: Annotated[
        str | None, typer.Option(help="The class that they should have.", show_default=False, metavar="CLASS")
    ] = None,
    names: Annotated[
        str | None, typer.Option(help="Column that says what the points are called.", metavar="COLUMN")
    ] = None,
    missing: Missing = None,
    trust: Trust = None,
    csv: Annotated[Path | None, typer.Option(help="CSV file to write the verdicts to, one line per point.")] = None,
    json: Json = False,
) -> None:
    """Judge points that came from elsewhere: would they keep their class if the model were trained again?

    Exit code 1 if one of them is not certified.
    """
    from betarce.runs.csv_points import judge_points
    from betarce.storage.files import check_writable

    with friendly_errors(path="--csv"), friendly_warnings():
        if csv is not None:
            check_writable(csv)
        judged = judge_points(from_run, points, target=target, names=names, missing=missing or (), trust=trust or ())
    if judged.extra:
        shown = ", ".join(map(repr, judged.extra))
        typer.echo(in_terminal(f"Columns of {points} that the model does not know are left out: {shown}."), err=True)
    if json:
        print_json(_document(judged))
    else:
        _print(judged)
    if csv is not None:
        _write(judged, csv)
    typer.echo(_FRESH, err=True)
    if judged.n_certified < len(judged.names):
        raise typer.Exit(1)


def _print(judged: "JudgedPoints") -> None:
    from rich.markup import escape

    from betarce.cli.terminal import Console

    console = Console(highlight=False)
    console.print(f"Would {escape(f'{judged.label} = {judged.target}')} stay?\n")
    for name, line in judged.to_frame().iterrows():
        sign = "[green]✓[/]" if line["certified"] else "[red]✗[/]"
        console.print(f"{sign} [bold]Row {escape(str(name))}[/]: {escape(in_options(line['says']))}")
    console.print(f"\n[bold]{judged.n_certified} of {len(judged.names)}[/] points are certified.")


def _document(judged: "JudgedPoints") -> dict[str, Any]:
    lines = judged.to_frame().reset_index(names="row").astype(object)
    return {
        "target": str(judged.target),
        "certified": judged.n_certified,
        "points": [
            {name: _plain(value) for name, value in zip(lines.columns, line, strict=True)}
            for line in lines.itertuples(index=False, name=None)
        ],
    }


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _write(judged: "JudgedPoints", path: Path) -> None:
    from betarce.safe_text import csv_for_people
    from betarce.storage.files import write_whole

    with friendly_errors(path="--csv"):
        write_whole(path, csv_for_people(judged.to_frame().reset_index(names="row")))
    typer.echo(in_terminal(f"Wrote {path}: one line per point."), err=True)
