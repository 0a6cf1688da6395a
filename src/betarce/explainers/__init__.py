"""Methods that make counterfactuals, behind one protocol."""

from collections.abc import Callable, Mapping
from typing import Any

from betarce.errors import InvalidInput
from betarce.explainers.dice import Dice
from betarce.explainers.growing_spheres import GrowingSpheres
from betarce.explainers.protocol import Explained, Explainer, FromCallable, Problem

__all__ = [
    "EXPLAINERS",
    "Dice",
    "Explained",
    "Explainer",
    "FromCallable",
    "GrowingSpheres",
    "Problem",
    "check_explainer",
]

EXPLAINERS: Mapping[str, Callable[[], Explainer]] = {"growing-spheres": GrowingSpheres, "dice": Dice}


def check_explainer(base: Any) -> Explainer | None:
    """Turn a name, an explainer or a callable into an explainer; None stays None.

    Examples
    --------
    >>> check_explainer("growing-spheres").search.n_candidates
    100
    """
    if base is None:
        return None
    if isinstance(base, str) and base in EXPLAINERS:
        return EXPLAINERS[base]()
    if hasattr(base, "explain") and not isinstance(base, type):
        explainer: Explainer = base
        return explainer
    if callable(base) and not isinstance(base, type):
        return FromCallable(base)
    raise InvalidInput(
        f"`base` must be one of {', '.join(map(repr, EXPLAINERS))}, an explainer, a callable (x, model, target) -> "
        f"point, or None; got {base!r}."
    )
