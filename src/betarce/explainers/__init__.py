"""Methods that make counterfactuals, behind one protocol."""

from collections.abc import Callable, Mapping
from typing import Any

from betarce.errors import InvalidInput
from betarce.explainers.closest import Closest
from betarce.explainers.dice import Dice
from betarce.explainers.face import Face
from betarce.explainers.growing_spheres import GrowingSpheres
from betarce.explainers.histogram import StabilityHistogram, stability_histogram
from betarce.explainers.nearest import NearestUnlike
from betarce.explainers.neighbourhood import stability
from betarce.explainers.nice import Nice
from betarce.explainers.protocol import Explained, Explainer, FromCallable, Problem
from betarce.explainers.rbr import Rbr
from betarce.explainers.roar import Roar
from betarce.explainers.robust_nearest import RobustNearest
from betarce.explainers.robx import RobX
from betarce.explainers.trex import TRex
from betarce.explainers.wachter import Wachter

__all__ = [
    "EXPLAINERS",
    "Closest",
    "Dice",
    "Explained",
    "Explainer",
    "Face",
    "FromCallable",
    "GrowingSpheres",
    "NearestUnlike",
    "Nice",
    "Problem",
    "Rbr",
    "Roar",
    "RobX",
    "RobustNearest",
    "StabilityHistogram",
    "TRex",
    "Wachter",
    "check_explainer",
    "stability",
    "stability_histogram",
]

EXPLAINERS: Mapping[str, Callable[[], Explainer]] = {
    "closest": Closest,
    "growing-spheres": GrowingSpheres,
    "dice": Dice,
    "nearest": NearestUnlike,
    "nice": Nice,
    "face": Face,
    "robust-nearest": RobustNearest,
    "robx": RobX,
    "trex": TRex,
    "rbr": Rbr,
    "roar": Roar,
    "wachter": Wachter,
}


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
