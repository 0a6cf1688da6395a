"""`betarce datasets`: tables to try things on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from betarce.cli.friendly import friendly_errors
from betarce.cli.layout import new_table, print_json
from betarce.cli.options import Json
from betarce.safe_text import in_terminal

if TYPE_CHECKING:
    from betarce.datasets import Dataset


def datasets(
    name: Annotated[str | None, typer.Argument(help="Data set to write; without it, all are listed.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write.", show_default="NAME.csv", metavar="FILE")
    ] = None,
    json: Json = False,
) -> None:
    """List the data sets of the paper and the synthetic loans, or write one of them as a CSV file.

    The loans and breast cancer are part of the installation; the others are downloaded once.
    """
    with friendly_errors(name="NAME", path="--out", download="--out"):
        if name is None:
            _refuse_out(out)
            return _print(_listed(), json)
        chosen = Path(f"{name}.csv") if out is None else out
        data = _written(name, chosen)
    if json:
        return print_json(_line(data.name, data) | {"file": str(chosen)})
    _, _, label = _shape(data)
    typer.echo(in_terminal(f"Wrote {chosen}: {data}. Its column of classes is {label}."))
    typer.echo(in_terminal(f"{data.description} Source: {data.source}."))
    return None


def _refuse_out(out: Path | None) -> None:
    from betarce.errors import InvalidInput

    if out is not None:
        raise InvalidInput("--out needs the name of a data set: betarce datasets loan --out loans.csv.")


def _written(name: str, path: Path) -> "Dataset":
    from betarce.datasets import load
    from betarce.storage.files import check_writable, write_whole

    check_writable(path)
    data = load(name)
    _, _, label = _shape(data)
    write_whole(path, data.X.assign(**{label: data.y}).to_csv(index=False))
    return data


def _listed() -> dict[str, "Dataset | None"]:
    """Give each data set that is on this machine, and None for those that are not."""
    from betarce.datasets import NAMES, load
    from betarce.errors import DataUnavailable

    found: dict[str, Dataset | None] = {}
    for name in NAMES:
        try:
            found[name] = load(name, download=False)
        except DataUnavailable:
            found[name] = None
    return found


def _print(found: "dict[str, Dataset | None]", json: bool) -> None:
    lines = [_line(name, data) for name, data in found.items()]
    if json:
        return print_json({"datasets": lines})
    from betarce.cli.terminal import Console

    table = new_table("", "name", "rows", "columns", "classes in", "about")
    for line in lines:
        shown = [line["rows"] or "-", line["columns"] or "-", line["label"] or "-"]
        table.add_row(line["name"], *map(str, shown), line["about"])
    table.columns[-1].justify = "left"
    Console(highlight=False).print(table)
    typer.echo("Write one as a CSV file: betarce datasets loan --out loans.csv")
    return None


def _line(name: str, data: "Dataset | None") -> dict[str, Any]:
    if data is None:
        about = f"Not on this machine: betarce datasets {name} downloads it."
        return {"name": name, "rows": None, "columns": None, "label": None, "about": about}
    rows, columns, label = _shape(data)
    return {"name": name, "rows": rows, "columns": columns, "label": label, "about": data.description}


def _shape(data: "Dataset") -> tuple[int, int, str]:
    rows, columns = data.X.shape
    return rows, columns, str(data.y.name)
