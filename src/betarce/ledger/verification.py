"""Is what was handed out true? A file of answers or statements checked as far as one wants to go."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from betarce.errors import CorruptFile, InvalidInput
from betarce.ledger.claims import read_claims
from betarce.ledger.keys import PublicKey
from betarce.ledger.second_count import count_again
from betarce.ledger.second_training import train_again
from betarce.models.recipe import Table
from betarce.robustify import BetaRCE

Strength = Literal["arithmetic", "votes", "members"]
_DONE = {
    "arithmetic": "their recorded votes give what they claim",
    "votes": "the members of the run vote as recorded",
    "members": "the members of the run, trained again, are the same and vote as recorded",
}
_UNSIGNED = "who signed the statements, since no public key was given"


@dataclass(frozen=True)
class Verification:
    """What a check of a file found.

    Attributes
    ----------
    file : str
    kind : {"answers", "statements", "certificate", ""}
        What the file holds; "" if that cannot be told.
    strength : {"arithmetic", "votes", "members"}
        How far the check went.
    n_checked : int
        Certified points in the file.
    problems : tuple of str
        What is not as it is claimed to be.
    notes : tuple of str
        What could not be checked, and why.

    Examples
    --------
    >>> found = Verification("answers.json", "answers", "votes", n_checked=5)
    >>> found.problems, found.n_checked
    ((), 5)
    """

    file: str
    kind: str
    strength: Strength
    n_checked: int = 0
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing was found that is not as claimed."""
        return not self.problems

    def __str__(self) -> str:
        if self.problems:
            return f"{self.file}: {len(self.problems)} problems, the first: {self.problems[0]}"
        what = {"answers": "certified answers", "statements": "statements"}.get(self.kind, self.kind)
        return f"{self.file}: {self.n_checked:,} {what}: {_DONE[self.strength]}"

    def to_plain(self) -> dict[str, Any]:
        """Give everything as strict JSON has it."""
        return {
            "file": self.file,
            "kind": self.kind,
            "strength": self.strength,
            "checked": self.n_checked,
            "holds": self.holds,
            "problems": list(self.problems),
            "notes": list(self.notes),
        }


def verify(
    path: str | os.PathLike[str],
    *,
    run: BetaRCE | None = None,
    strength: Strength | None = None,
    data: Table | None = None,
    keys: Sequence[PublicKey] = (),
    n_jobs: int | None = None,
) -> Verification:
    """Check a file of answers, of statements, or a certificate.

    Parameters
    ----------
    path : str or path
        What `Result.save`, `betarce ledger export` or `Certificate.to_json` wrote.
    run : BetaRCE, optional
        The explainer that it comes from, as `betarce.load` gives it.
    strength : {"arithmetic", "votes", "members"}, optional
        "arithmetic": the file is whole, and what it claims follows from the votes that it records. "votes": the members
        of the run vote again. "members": the members are trained again from the data and the seeds of the run, too. By
        default "votes" with a run, else "arithmetic".
    data : Table, optional
        For "members": the training table from its own source, to be compared with that of the run.
    keys : sequence of PublicKey
        One of which must have signed every statement.
    n_jobs : int, optional
        Workers that train members.

    Returns
    -------
    Verification
        A file that was changed is a problem in it, no error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from betarce import Guarantee
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "certificate.json"
    >>> text = Guarantee(0.9, 0.95).certify(38, 38, target="approved").to_json()
    >>> _ = path.write_text(text)
    >>> verify(path).holds
    True
    >>> _ = path.write_text(text.replace("approved", "rejected"))
    >>> verify(path).problems[0]
    'This certificate does not match its digest: it was damaged or edited. Do not rely on it'
    """
    wanted: Strength = ("arithmetic" if run is None else "votes") if strength is None else strength
    if wanted not in get_args(Strength):
        raise InvalidInput(f"`strength` must be one of {', '.join(get_args(Strength))}; got {strength!r}.")
    if wanted != "arithmetic" and run is None:
        raise InvalidInput(f"`run` must be given to check {wanted}: they are in it.")
    name = os.fspath(path)
    try:
        found = read_claims(path, keys=keys)
    except CorruptFile as error:
        return Verification(name, "", "arithmetic", problems=(str(error).rstrip("."),))
    problems: list[str] = []
    notes = [_UNSIGNED] if found.n_signed and not keys else []
    if wanted == "members" and run is not None:
        _gather(problems, notes, train_again(run, data=data, n_jobs=n_jobs))
    if wanted != "arithmetic" and run is not None:
        _gather(problems, notes, count_again(found, run))
    return Verification(name, found.kind, wanted, len(found.claims), tuple(problems), tuple(notes))


def _gather(problems: list[str], notes: list[str], found: tuple[list[str], list[str]]) -> None:
    problems += found[0]
    notes += found[1]
