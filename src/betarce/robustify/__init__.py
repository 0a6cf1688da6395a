"""Making counterfactuals robust, and certifying them."""

from betarce.robustify.betarce import BetaRCE
from betarce.robustify.certify import Verdict, Verdicts
from betarce.robustify.result import Result, RobustCounterfactual

__all__ = ["BetaRCE", "Result", "RobustCounterfactual", "Verdict", "Verdicts"]
