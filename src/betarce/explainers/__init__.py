"""Methods that make counterfactuals, behind one protocol.

A method is one module, which is imported below; `register` gives it its name.
"""

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
from betarce.explainers.registry import EXPLAINERS, check_explainer, register
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
    "register",
    "stability",
    "stability_histogram",
]
