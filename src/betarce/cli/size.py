"""`betarce size`: how many models a guarantee takes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from betarce.cli.friendly import friendly_errors
from betarce.cli.layout import new_table, print_json
from betarce.cli.options import Json, Prior, check_choice

if TYPE_CHECKING:
    from rich.table import Table

    from betarce.posterior import Prior as PriorValue

_DISSENTS = (0, 1, 2, 5)
_DELTAS, _CONFIDENCES = (0.8, 0.9, 0.95), (0.9, 0.95, 0.99)
Line = Mapping[str, float | None]


def size(
    delta: Annotated[
        list[float] | None, typer.Option(help="Share to certify; may be given more than once.", metavar="SHARE")
    ] = None,
    confidence: Annotated[
        list[float] | None, typer.Option(help="How sure; may be given more than once.", metavar="SHARE")
    ] = None,
    models: Annotated[
        list[int] | None, typer.Option(help="The reverse: what can so many models certify?", metavar="N")
    ] = None,
    prior: Prior = "exact",
    json: Json = False,
) -> None:
    """Say how many models a guarantee takes, or, with --models, what so many models can guarantee."""
    from betarce.cli.terminal import Console
    from betarce.errors import InvalidInput
    from betarce.posterior import PRIORS

    with friendly_errors():
        for n in models or []:
            if n < 1:
                raise InvalidInput(f"--models must be at least 1; got {n}.")
        chosen = PRIORS[check_choice("--prior", prior, PRIORS)]
        if models:
            title = f"Largest delta ({prior} prior)"
            lines = largest_deltas(models, confidence or _CONFIDENCES, chosen)
        else:
            title = f"Models needed ({prior} prior)"
            lines = models_needed(delta or _DELTAS, confidence or _CONFIDENCES, chosen)
    if json:
        print_json({"prior": prior, "lines": lines})
    else:
        Console(highlight=False).print(lines_table(title, lines, places=3 if models else 0))


def models_needed(deltas: Sequence[float], confidences: Sequence[float], prior: "PriorValue") -> list[Line]:
    """Give the least number of models by delta, confidence and allowed dissent."""
    from betarce.posterior import Guarantee

    return [
        {"delta": delta, "confidence": confidence}
        | {
            _heading(dissent): Guarantee(delta, confidence, prior).min_models(allowed_dissent=dissent)
            for dissent in _DISSENTS
        }
        for delta in deltas
        for confidence in confidences
    ]


def largest_deltas(models: Sequence[int], confidences: Sequence[float], prior: "PriorValue") -> list[Line]:
    """Give the largest certifiable delta by number of models, confidence and dissent."""
    from betarce.posterior import lower_bound

    return [
        {"models": n, "confidence": confidence}
        | {
            _heading(dissent): float(lower_bound(n - dissent, n, confidence=confidence, prior=prior))
            if dissent <= n
            else None
            for dissent in _DISSENTS
        }
        for n in models
        for confidence in confidences
    ]


def lines_table(title: str, lines: Sequence[Line], places: int) -> "Table":
    """Lay out what votes can promise."""
    table = new_table(title, *lines[0])
    for line in lines:
        first, second, *others = line.values()
        shown = ["-" if value is None else f"{value:.{places}f}" for value in others]
        table.add_row(f"{first:g}", f"{second:g}", *shown)
    return table


def _heading(dissent: int) -> str:
    return "all agree" if dissent == 0 else f"{dissent} may dissent"
