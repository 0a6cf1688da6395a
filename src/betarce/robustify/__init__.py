"""Making counterfactuals robust, and certifying them."""

from betarce.results.result import Result, RobustCounterfactual
from betarce.robustify.betarce import BetaRCE
from betarce.robustify.certify import Verdict, Verdicts
from betarce.robustify.tradeoff import Frontier

__all__ = ["BetaRCE", "Frontier", "Result", "RobustCounterfactual", "Verdict", "Verdicts"]
