"""`betarce serve`: the page for people, with answers to "what if"."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from betarce.cli.friendly import friendly_errors
from betarce.safe_text import in_terminal

if TYPE_CHECKING:
    import pandas as pd

    from betarce.robustify import BetaRCE
    from betarce.web.desk import Desk
    from betarce.web.records import Records


_OPEN = "Warning: who is on your network and has this address can read the rows."


def serve(
    run: Annotated[Path, typer.Argument(help="Folder of a run, as `betarce fit` writes.", show_default=False)],
    rows: Annotated[Path | None, typer.Option(help="CSV file of rows to pick from.", show_default=False)] = None,
    ledger: Annotated[Path | None, typer.Option(help="Ledger of promises to show.", show_default=False)] = None,
    title: Annotated[str, typer.Option(help="What the page is called.", show_default=False)] = "",
    texts: Annotated[
        Path | None, typer.Option(help="JSON file with a translation of the page.", show_default=False)
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; others than 127.0.0.1 open it to a network.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any that is free.")] = 8377,
    trust: Annotated[
        list[str] | None, typer.Option(help="Type of model that the run may hold.", show_default=False, metavar="TYPE")
    ] = None,
) -> None:
    """Open a run as a page in the browser: what to change, how sure it is, and what if.

    Only who has the printed address can read it. Nothing that is asked is written down.
    """
    with friendly_errors(port="--port", host="--host", texts="--texts", path="--ledger", trust="--trust"):
        from betarce.web.serving import bind
        from betarce.web.serving import serve as serve_forever

        address = bind(host, port)  # before the run is loaded, which takes longer
        from betarce.results.page.texts import check_texts

        words = check_texts(texts)
        if not address.is_private:
            typer.secho(_OPEN, err=True, fg="yellow")
        with ThreadPoolExecutor(1) as loader:
            promises = None if ledger is None else loader.submit(_records, ledger)
            desk = loader.submit(_desk, run, rows, trust or ())
            with suppress(KeyboardInterrupt):  # the way to stop it, as it said
                serve_forever(desk, words, address, promises=promises, title=title, ready=_ready)
            for opened in (promises, desk):
                if opened is not None:
                    opened.result()


def _records(ledger: Path) -> "Records":
    from betarce.web.records import Records

    return Records(ledger)


def _desk(run: Path, rows: Path | None, trust: Sequence[str]) -> "Desk":
    from betarce.runs import load
    from betarce.web.desk import Desk

    rce = load(run, trust=tuple(trust))
    return Desk(rce, None if rows is None else _read(rows, run, rce))


def _read(path: Path, run: Path, rce: "BetaRCE") -> "pd.DataFrame":
    """Read the rows to pick from, as `betarce explain --from` does; columns that the run does not know are left out."""
    from betarce.runs.csv_rows import read_rows
    from betarce.runs.manifest import Manifest

    return read_rows(path, rce.features_, missing=Manifest.read(run).source.missing).table


def _ready(url: str) -> None:
    typer.echo(in_terminal(f"Open {url}\nPress Ctrl+C to stop."), err=True)
