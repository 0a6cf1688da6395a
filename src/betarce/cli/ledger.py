"""`betarce ledger`: what is on record, and what happens to it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from betarce.cli.friendly import friendly_errors, friendly_warnings
from betarce.cli.layout import new_table, print_json
from betarce.cli.options import Json, Trust

if TYPE_CHECKING:
    from betarce.ledger import Ledger, Promise

ledger = typer.Typer(no_args_is_help=True, help="Promises on record: look at them, export, withdraw or erase them.")

Store = Annotated[Path, typer.Option("--ledger", help="The file of the ledger.", show_default=False, metavar="FILE")]
Promises = Annotated[list[str], typer.Argument(help="Names of promises, or their first characters.")]
Reason = Annotated[str, typer.Option(help="Why; stored beside the chain, and erased with the promise.", metavar="TEXT")]
Key = Annotated[Path | None, typer.Option(help="PEM file of the private key to sign with.", metavar="FILE")]
Public = Annotated[Path | None, typer.Option(help="PEM file of the public key that must have signed.", metavar="FILE")]


@ledger.command()
def head(
    store: Store,
    out: Annotated[Path | None, typer.Option(help="Also write it to this file, to keep it elsewhere.")] = None,
    key: Key = None,
    compare: Annotated[Path | None, typer.Option(help="An earlier head: does the ledger still lead from it?")] = None,
    public_key: Public = None,
    json: Json = False,
) -> None:
    """Check the whole chain, and print its end; whoever keeps it can tell later whether anything was changed."""
    from dataclasses import asdict

    from betarce.ledger import PublicKey, SigningKey, load_head, save_head

    with friendly_errors(), _opened(store) as opened:
        keys = [] if public_key is None else [PublicKey.load(public_key)]
        found = opened.verify(None if compare is None else load_head(compare, keys=keys))
        if out is not None:
            save_head(found.head, out, key=None if key is None else SigningKey.load(key))
    if json:
        problems = [str(problem) for problem in found.problems]
        print_json({**asdict(found.head), "intact": found.intact, "problems": problems, "erased": found.n_erased})
    else:
        typer.echo(f"{found.head}\n{found}")
    if not found.intact:
        raise typer.Exit(1)


@ledger.command("list")
def list_promises(
    store: Store,
    state: Annotated[str | None, typer.Option(help="Only those in this state.", metavar="STATE")] = None,
    json: Json = False,
) -> None:
    """List the promises, one line each."""
    from rich.markup import escape

    from betarce.cli.terminal import Console

    with friendly_errors(state="--state"), _opened(store) as opened:
        frame = opened.promises(state=state)  # type: ignore[arg-type]
        lines = [opened.promise(name) for name in frame.index]
    if json:
        print_json([_plain(promise) for promise in lines])
        return
    table = new_table("", "promise", "row", "target", "cohort", "state", "delta", "expires")
    for promise in lines:
        cells = [promise.id, *(str(value) for value in (_row(promise), promise.target, promise.cohort, promise.state))]
        until = "-" if promise.expires is None else promise.expires.date().isoformat()
        table.add_row(*map(escape, [*cells, f"{promise.delta:g}", until]))
    Console(highlight=False).print(table)


@ledger.command()
def show(store: Store, promise: Annotated[str, typer.Argument(help="Its name.")], json: Json = False) -> None:
    """Show one promise: what was promised, and what has happened to it."""
    from betarce.ledger import read_statement
    from betarce.safe_text import in_terminal

    with friendly_errors(promise="The promise"), _opened(store) as opened:
        found = opened.promise(promise)
        history = opened.history(found.id)
        said = "" if found.erased else read_statement(opened.envelope(found.id).payload).in_words
    events = [
        {"at": at.isoformat(), "what": kind, "remark": remark}
        for at, kind, remark in zip(history["at"], history["kind"], history["remark"], strict=True)
    ]
    if json:
        print_json({**_plain(found), "in_words": said, "history": events})
        return
    typer.echo(in_terminal(f"{found!r}\n{said or 'Its content was erased on request.'}"))
    for event in events:
        remark = f": {event['remark']}" if event["remark"] else ""
        typer.echo(in_terminal(f"  {event['at'][:19]}  {event['what']}{remark}"))


@ledger.command()
def export(
    store: Store,
    out: Annotated[Path, typer.Option(help="The file to write: one envelope per line.", show_default=False)],
    promises: Annotated[list[str] | None, typer.Argument(help="Names of promises; all by default.")] = None,
) -> None:
    """Write the statements of promises as in-toto statements in DSSE envelopes, one per line."""
    import json

    from betarce.safe_text import in_terminal
    from betarce.storage.files import write_whole

    with friendly_errors(path="--out", promise="The promise"), _opened(store) as opened:
        frame = opened.promises()
        names = promises or list(frame.index[~frame["erased"]])
        lines = [json.dumps(opened.envelope(name).to_plain()) for name in names]
        write_whole(out, "".join(f"{line}\n" for line in lines))
    typer.echo(in_terminal(f"Wrote {out}: {len(lines):,} statements."), err=True)


@ledger.command()
def withdraw(store: Store, promises: Promises, reason: Reason = "") -> None:
    """Take promises back: they bind no longer."""
    with friendly_errors(promise="The promise"), friendly_warnings(), _opened(store, write=True) as opened:
        opened.withdraw(promises, reason=reason)
    typer.echo(f"Withdrawn: {len(promises)}.")


@ledger.command()
def honour(store: Store, promises: Promises, reason: Reason = "") -> None:
    """Put on record that promises were kept, whatever the model says."""
    with friendly_errors(promise="The promise"), friendly_warnings(), _opened(store, write=True) as opened:
        opened.honour(promises, reason=reason)
    typer.echo(f"Honoured: {len(promises)}.")


@ledger.command()
def refer(store: Store, promises: Promises, reason: Reason = "") -> None:
    """Put on record that people shall decide on promises; they stay open until then."""
    with friendly_errors(promise="The promise"), friendly_warnings(), _opened(store, write=True) as opened:
        opened.refer(promises, reason=reason)
    typer.echo(f"Referred: {len(promises)}.")


@ledger.command()
def repair(
    store: Store,
    from_run: Annotated[
        Path, typer.Option("--from", help="Run that is fitted to the model in use now.", metavar="RUN")
    ],
    promises: Annotated[list[str] | None, typer.Argument(help="Names of promises; all broken ones by default.")] = None,
    expires: Annotated[str | None, typer.Option(help="Until when the new promises bind.", metavar="DATE")] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Statements do not tell the points, but commit to them.")
    ] = False,
    key: Key = None,
    trust: Trust = None,
    json: Json = False,
) -> None:
    """Make broken promises good: promise the nearest point that the models of today certify."""
    from betarce.ledger import SigningKey
    from betarce.runs import load
    from betarce.safe_text import in_terminal

    options = {"promise": "The promise", "promises": "The promises", "expires": "--expires", "run": "--from"}
    with friendly_errors(**options), friendly_warnings(), _opened(store, write=True) as opened:
        run, signing = load(from_run, trust=trust or ()), None if key is None else SigningKey.load(key)
        frame = opened.repair(promises or (), run=run, expires=expires, private=private, key=signing)
    lines = [{"promise": name, **line} for name, line in zip(frame.index, frame.to_dict("records"), strict=True)]
    if json:
        print_json([{**line, "name": str(line["name"])} for line in lines])
        return
    for line in lines:
        typer.echo(in_terminal(f"{line['promise']}: {line['by'] or line['reason']}"))
    typer.echo(f"Repaired: {sum(bool(line['by']) for line in lines)} of {len(lines)}.")


@ledger.command()
def points(store: Store, out: Annotated[Path, typer.Option(help="The CSV file to write.", show_default=False)]) -> None:
    """Write the promised points as CSV for any scoring system; `betarce recheck --predictions` takes what it says."""
    from betarce.cli.csv_output import points_csv
    from betarce.safe_text import in_terminal
    from betarce.storage.files import write_whole

    with friendly_errors(path="--out"), _opened(store) as opened:
        found = opened.points()
        write_whole(out, points_csv(found))
    typer.echo(in_terminal(f"Wrote {out}: {len(found):,} points."), err=True)


@ledger.command()
def erase(
    store: Store,
    promises: Annotated[list[str] | None, typer.Argument(help="Names of promises, or their first characters.")] = None,
    row: Annotated[
        str | None, typer.Option(help="Instead: the name of a row, all of whose promises are erased.", metavar="NAME")
    ] = None,
) -> None:
    """Delete what is personal of promises; the chain stays valid and says nothing about who it was."""
    from betarce.errors import InvalidInput

    with friendly_errors(promise="The promise", name="--row"), friendly_warnings():
        if (row is None) == (not promises):
            raise InvalidInput("Say either which promises are to be erased, or which --row.")
        with _opened(store, write=True) as opened:
            n_erased = opened.erase(promises or ()) if row is None else opened.erase(name=_name(opened, row))
    typer.echo(f"Erased: {n_erased}.")


@ledger.command()
def key(out: Annotated[Path, typer.Option(help="The file to write the private key to.", show_default=False)]) -> None:
    """Make a key to sign with, and its public half beside it."""
    from betarce.ledger import SigningKey
    from betarce.safe_text import in_terminal

    with friendly_errors(path="--out"):
        private, public = SigningKey.new().save(out)
    typer.echo(in_terminal(f"Wrote {private}: keep it secret. Wrote {public}: give it to whoever checks."))


def _opened(store: Path, *, write: bool = False) -> "Ledger":
    """Open a ledger that is there: a mistyped name must not make a new one."""
    from betarce.errors import InvalidInput
    from betarce.ledger import Ledger

    if not store.exists():
        raise InvalidInput(f"--ledger must name a ledger; there is no file at {str(store)!r}.")
    return Ledger(store, read_only=not write)


def _name(opened: "Ledger", row: str) -> object:
    """Find the row that is called so; names may be numbers."""
    names = opened.promises()["name"].tolist()
    return next((name for name in names if str(name) == row), row)


def _row(promise: "Promise") -> object:
    return "(erased)" if promise.erased else promise.name


def _plain(promise: "Promise") -> dict[str, object]:
    return {
        "promise": promise.id,
        "row": str(_row(promise)),
        "target": promise.target,
        "cohort": promise.cohort,
        "state": promise.state,
        "delta": promise.delta,
        "confidence": promise.confidence,
        "issued": promise.issued.isoformat(),
        "expires": None if promise.expires is None else promise.expires.isoformat(),
        "erased": promise.erased,
    }
