"""`betarce figures`: what votes can promise, drawn."""

from pathlib import Path
from typing import Annotated

import typer

from betarce.cli.friendly import friendly_errors


def figures(
    out: Annotated[Path, typer.Option(help="Folder to write to; made if it is not there.")] = Path("figures"),
) -> None:
    """Draw what votes can promise: Beta shapes, largest delta, interval widths; write the table of deltas."""
    from rich.markup import escape

    from betarce.cli.terminal import Console
    from betarce.paper.figures.vote_figures import write_vote_figures

    console = Console(highlight=False)
    with friendly_errors():
        for path in write_vote_figures(out):
            console.print(f"Wrote {escape(str(path))}", soft_wrap=True)
