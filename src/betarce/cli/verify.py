"""`betarce verify`: is what was handed out true?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from betarce.cli.friendly import friendly_errors, friendly_warnings
from betarce.cli.layout import print_json
from betarce.cli.options import Jobs, Json, Trust, check_choice, check_jobs
from betarce.safe_text import in_terminal

if TYPE_CHECKING:
    from betarce.ledger import Verification

_SHOWN = 20
_STRENGTHS = ("arithmetic", "votes", "members")


def verify(
    file: Annotated[
        Path, typer.Argument(help="Answers, statements in envelopes, or a certificate.", show_default=False)
    ],
    from_run: Annotated[
        Path | None, typer.Option("--from", help="Run that it comes from: its members vote again.", metavar="RUN")
    ] = None,
    strength: Annotated[
        str | None,
        typer.Option(
            help="arithmetic: what is claimed follows from the recorded votes. votes: the members of the run vote "
            "again. members: they are trained again, too.",
            metavar="NAME",
            show_default="votes with --from, else arithmetic",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="CSV file of the training table, to be compared with that of the run.", metavar="FILE"),
    ] = None,
    public_key: Annotated[
        Path | None, typer.Option(help="PEM file of the public key that must have signed.", metavar="FILE")
    ] = None,
    jobs: Jobs = -1,
    trust: Trust = None,
    json: Json = False,
) -> None:
    """Check what was handed out: any change of it is found, and the message says what was changed.

    Exit code 1 if something is not as it is claimed to be.
    """
    from betarce.errors import InvalidInput
    from betarce.ledger import PublicKey
    from betarce.ledger import verify as check

    with friendly_errors(path="The file", run="--from", strength="--strength"), friendly_warnings():
        how: dict[str, Any] = {"n_jobs": check_jobs(jobs)}
        how["strength"] = None if strength is None else check_choice("--strength", strength, _STRENGTHS)
        how["keys"] = [] if public_key is None else [PublicKey.load(public_key)]
        if data is not None and strength != "members":
            raise InvalidInput("--data needs --strength members: the training table is compared before it is used.")
        if from_run is not None:
            how |= _from_run(from_run, data, trust or [])
        found = check(file, **how)
    if json:
        print_json(found.to_plain())
    else:
        _print(found)
    if not found.holds:
        raise typer.Exit(1)


def _from_run(from_run: Path, data: Path | None, trust: list[str]) -> dict[str, Any]:
    from betarce.runs import load
    from betarce.runs.csv_rows import read_table
    from betarce.runs.manifest import Manifest

    run = load(from_run, trust=trust)
    source = Manifest.read(from_run).source
    return {"run": run, "data": None if data is None else read_table(data, run, source)}


def _print(found: "Verification") -> None:
    if found.holds:
        typer.secho(in_terminal(str(found)), fg="green")
    else:
        typer.secho(in_terminal(f"{found.file} is not as it is claimed to be:"), fg="red")
    for problem in found.problems[:_SHOWN]:
        typer.echo(in_terminal(f"  * {problem}"))
    if len(found.problems) > _SHOWN:
        typer.echo(f"  and {len(found.problems) - _SHOWN:,} more; --json gives all")
    for note in found.notes:
        typer.echo(in_terminal(f"Not checked: {note}."))
