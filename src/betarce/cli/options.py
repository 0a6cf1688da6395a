"""Options that several commands share, and what their values mean."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

Delta = Annotated[float, typer.Option(help="Share of all retrained models that must keep the class.", metavar="SHARE")]
Confidence = Annotated[float, typer.Option(help="How sure that is, one-sided.", metavar="SHARE")]
Prior = Annotated[
    str, typer.Option(help="exact (holds for every true share), jeffreys (the paper's) or uniform.", metavar="NAME")
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same output.", metavar="N")]
Jobs = Annotated[int, typer.Option(help="Workers that train models; -1 for one per core.", metavar="N")]
Drop = Annotated[
    list[str] | None, typer.Option(help="Column to leave out; may be given more than once.", metavar="COLUMN")
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="What else stands for a missing value, such as '?'; may be given more than once.", metavar="TEXT"
    ),
]
Table = Annotated[Path, typer.Argument(help="CSV file of the training table.", show_default=False)]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        help="Type that a stored model may hold, such as lightgbm.sklearn.LGBMClassifier; may be given more than once.",
        metavar="TYPE",
    ),
]
AllowPickle = Annotated[
    bool, typer.Option("--allow-pickle", help="Read .joblib and .pkl files, which run whatever code they hold.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def given(context: typer.Context, name: str) -> bool:
    """Say whether an option was typed, and is not what it is by default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def check_choice(option: str, value: str, known: Iterable[str]) -> str:
    """Refuse a value that an option does not know.

    Examples
    --------
    >>> check_choice("--space", "bootstrp", ["bootstrap", "seed"])
    Traceback (most recent call last):
    betarce.errors.InvalidInput: --space must be one of bootstrap, seed; got 'bootstrp'. Did you mean 'bootstrap'?
    """
    from betarce.errors import InvalidInput

    names = list(known)
    if value in names:
        return value
    close = get_close_matches(value, names, 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise InvalidInput(f"{option} must be one of {', '.join(names)}; got {value!r}.{hint}")


def check_jobs(jobs: int) -> int:
    """Refuse no workers at all, and more than any machine can start."""
    from betarce.checks import MOST_JOBS
    from betarce.errors import InvalidInput

    if jobs == 0 or jobs > MOST_JOBS:
        raise InvalidInput(f"--jobs must be a number of workers up to {MOST_JOBS}, or -1 for one per core; got {jobs}.")
    return jobs


def models_of(text: str) -> str | int | tuple[int, int]:
    """Read how many models to train: a word, a number, or one for searching and one for certifying.

    Examples
    --------
    >>> models_of("few"), models_of("100"), models_of("38,103")
    ('few', 100, (38, 103))
    """
    from betarce.errors import InvalidInput

    if text in ("few", "auto", "many"):
        return text
    try:
        match [int(part) for part in text.split(",")]:
            case [n] if n > 0:
                return n
            case [search, certify] if search > 0 and certify > 0:
                return search, certify
    except ValueError:
        pass
    raise InvalidInput(
        "--models must be few, auto, many, a number, or two of them (to search with, to certify with) such as 38,103; "
        f"got {text!r}."
    )
