"""`betarce report`: stored answers as a page for people."""

from pathlib import Path
from typing import Annotated

import typer

from betarce.cli.friendly import friendly_errors
from betarce.safe_text import in_terminal


def report(
    answers: Annotated[
        Path, typer.Argument(help="JSON file of answers, as `betarce explain --out` writes.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("answers.html"),
    title: Annotated[str | None, typer.Option(help="What the page is called.", show_default=False)] = None,
    texts: Annotated[
        Path | None, typer.Option(help="JSON file with a translation of the page.", show_default=False)
    ] = None,
) -> None:
    """Turn stored answers into one HTML file for people: what to change, how sure it is, what more certainty costs.

    The file needs no connection. It holds the rows, so it is as confidential as the table.
    """
    with friendly_errors(path="--out", texts="--texts", title="--title"):
        from betarce.storage.files import check_writable

        check_writable(out)
        from betarce.results.result import Result

        result = Result.load(answers)
        result.to_html(out, title=title, texts=texts)
    rows = f"{len(result):,} row{'s' * (len(result) != 1)}"
    typer.echo(in_terminal(f"Wrote {out}: a page on {rows}, to open in a browser."), err=True)
