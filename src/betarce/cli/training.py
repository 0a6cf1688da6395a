"""Options that say how an explainer is trained, shared by `betarce fit` and `betarce explain`."""

from typing import Annotated, Any

import typer

from betarce.cli.options import check_choice, check_jobs, models_of

_SPACES = ("bootstrap", "new-data", "seed")

Base = Annotated[
    str,
    typer.Option(
        help="Stay close to what this method recommends: growing-spheres, nice, face, ...; none stays close to the "
        "person.",
        metavar="NAME",
    ),
]
Models = Annotated[
    str,
    typer.Option(help="Retrained models: few, auto, many, N, or S,C to search and to certify with.", metavar="N"),
]
Space = Annotated[
    str,
    typer.Option(
        help="How the model may be retrained: bootstrap (the same rows drawn again), new-data (new rows of the same "
        "kind) or seed.",
        metavar="NAME",
    ),
]
MaxChanges = Annotated[
    int | None, typer.Option(help="The most columns that an answer may change.", min=1, show_default=False)
]


def explainer_settings(
    *,
    space: str,
    base: str,
    prior: str,
    models: str,
    jobs: int,
    max_changes: int | None,
) -> dict[str, Any]:
    """Turn options into parameters of `BetaRCE`, each checked by its own name."""
    from betarce.explainers import EXPLAINERS
    from betarce.posterior import PRIORS

    settings: dict[str, Any] = {
        "space": check_choice("--space", space, _SPACES),
        "base": None if check_choice("--base", base, ("none", *EXPLAINERS)) == "none" else base,
        "prior": check_choice("--prior", prior, PRIORS),
        "n_models": models_of(models),
        "n_jobs": check_jobs(jobs),
    }
    return settings if max_changes is None else {**settings, "max_changes": max_changes}
