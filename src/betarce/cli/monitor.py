"""`betarce monitor`: promised against realised."""

from pathlib import Path
from typing import Annotated

import typer

from betarce.cli.friendly import friendly_errors
from betarce.cli.layout import new_table


def monitor(
    ledger: Annotated[Path, typer.Option(help="The file of the ledger.", show_default=False, metavar="FILE")],
    json: Annotated[Path | None, typer.Option(help="JSON file to write everything to.")] = None,
    plot: Annotated[Path | None, typer.Option(help="PNG file to draw a picture to.")] = None,
) -> None:
    """Compare what was promised with what models in use have kept, deployment by deployment."""
    from json import dumps

    from rich.markup import escape

    from betarce.cli.terminal import Console
    from betarce.ledger import Ledger
    from betarce.plotting.sheet import save_png
    from betarce.storage.files import write_whole

    with friendly_errors(path="--ledger"), Ledger(ledger, read_only=True) as opened:
        found = opened.monitor()
    table = new_table("", "model", "when", "promises", "promised", "realised")
    for line in found.to_plain()["deployments"]:
        shares = [f"{line[name]:.1%}" for name in ("promised", "realised")]
        table.add_row(escape(str(line["model"])), line["at"][:10], f"{line['promises']:,}", *shares)
    console = Console(highlight=False)
    console.print(table if len(found.outcomes) else "No model in use has been re-checked yet.")
    with friendly_errors():
        if json is not None:
            write_whole(json, dumps(found.to_plain(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        if plot is not None:
            save_png(found.plot().figure, plot)
