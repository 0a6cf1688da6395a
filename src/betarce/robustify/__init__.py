"""Making counterfactuals robust, and certifying them."""

from betarce.results.counterfactual import RobustCounterfactual
from betarce.results.result import Result
from betarce.robustify.betarce import BetaRCE
from betarce.robustify.certify import Verdict, Verdicts
from betarce.robustify.tradeoff import Frontier

__all__ = ["BetaRCE", "Frontier", "Result", "RobustCounterfactual", "Verdict", "Verdicts"]
