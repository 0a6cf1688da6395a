"""Types of the lazily imported names; `python tools/stub.py` writes this file from `exports.py`."""

from betarce import datasets as datasets
from betarce import errors as errors
from betarce import explainers as explainers
from betarce import ledger as ledger
from betarce import metrics as metrics
from betarce import models as models
from betarce import posterior as posterior
from betarce import rules as rules
from betarce import search as search
from betarce import spaces as spaces
from betarce import testing as testing
from betarce.comparison.compare import Comparison as Comparison
from betarce.comparison.compare import compare as compare
from betarce.ensemble import Ensemble as Ensemble
from betarce.features import FeatureSpace as FeatureSpace
from betarce.ledger import Ledger as Ledger
from betarce.models import Network as Network
from betarce.posterior import Certificate as Certificate
from betarce.posterior import Guarantee as Guarantee
from betarce.posterior import Prior as Prior
from betarce.robustify import BetaRCE as BetaRCE
from betarce.robustify import Frontier as Frontier
from betarce.robustify import Result as Result
from betarce.robustify import RobustCounterfactual as RobustCounterfactual
from betarce.robustify import Verdicts as Verdicts
from betarce.rules import at_most as at_most
from betarce.rules import between as between
from betarce.rules import categorical as categorical
from betarce.rules import continuous as continuous
from betarce.rules import cost as cost
from betarce.rules import decrease_only as decrease_only
from betarce.rules import derived as derived
from betarce.rules import immutable as immutable
from betarce.rules import increase_only as increase_only
from betarce.rules import integer as integer
from betarce.rules import may_be_missing as may_be_missing
from betarce.rules import no_more_than as no_more_than
from betarce.rules import one_hot as one_hot
from betarce.rules import one_of as one_of
from betarce.rules import ordinal as ordinal
from betarce.rules import read_rules as read_rules
from betarce.rules import transitions as transitions
from betarce.rules import write_rules as write_rules
from betarce.runs import load as load
from betarce.search import FrontierSearch as FrontierSearch
from betarce.search import GrowingSpheresSearch as GrowingSpheresSearch
from betarce.spaces import Architecture as Architecture
from betarce.spaces import Bootstrap as Bootstrap
from betarce.spaces import Custom as Custom
from betarce.spaces import Given as Given
from betarce.spaces import Mixture as Mixture
from betarce.spaces import NewData as NewData
from betarce.spaces import Seed as Seed

__version__: str
__all__: list[str]
