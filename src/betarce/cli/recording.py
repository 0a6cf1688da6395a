"""What `betarce explain --ledger` does: certified answers become promises on record."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from betarce.cli.friendly import friendly_errors
from betarce.safe_text import in_terminal

if TYPE_CHECKING:
    from betarce.results.result import Result
    from betarce.runs.csv_runs import RunJob

LedgerFile = Annotated[
    Path | None, typer.Option(help="Put the answers on record as promises, in this file.", metavar="FILE")
]
Names = Annotated[str | None, typer.Option(help="Column of the rows that says what each is called.", metavar="COLUMN")]
Expires = Annotated[str | None, typer.Option(help="Until when the promises bind, such as 2027-06-30.", metavar="DATE")]
Cohort = Annotated[
    str | None, typer.Option(help="Column of the rows with the group to report on later.", metavar="COLUMN")
]
Private = Annotated[bool, typer.Option("--private", help="Statements do not tell the points, but commit to them.")]
Key = Annotated[
    Path | None, typer.Option(help="PEM file of the private key to sign the promises with.", metavar="FILE")
]


@dataclass(frozen=True, eq=False)
class Recording:
    """A ledger that is ready to take answers; without a file, nothing is recorded.

    Attributes
    ----------
    path : path or None
    terms : dict
        What `Ledger.record` is told besides the result.
    """

    path: Path | None
    terms: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        path: Path | None,
        found: "RunJob",
        *,
        expires: str | None,
        cohort: str | None,
        private: bool,
        key: Path | None,
    ) -> "Recording":
        """Find out before the work, not after it, that something cannot be recorded."""
        if path is None:
            return cls(None)
        from betarce.ledger import Ledger, SigningKey
        from betarce.ledger.moments import check_expiry, now

        with friendly_errors(path="--ledger", expires="--expires"):
            with Ledger(path) as ledger:
                ledger.head()
            check_expiry(expires, now())
            terms = {
                "run": found.job.rce,
                "expires": expires,
                "cohort": None if cohort is None else found.rows.column(cohort),
                "private": private,
                "key": None if key is None else SigningKey.load(key),
            }
        return cls(path, terms)

    def record(self, result: "Result") -> None:
        """Put the certified answers on record, before anybody is told them."""
        if self.path is None:
            return
        from betarce.ledger import Ledger

        with friendly_errors(path="--ledger"), Ledger(self.path) as ledger:
            promises = ledger.record(result, **self.terms)
            head = ledger.head()
        typer.echo(in_terminal(f"Recorded {len(promises):,} promises in {self.path}; its head: {head}"), err=True)
