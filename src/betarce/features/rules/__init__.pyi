"""Types of the rules, which are imported by their names; `python tools/stub.py` writes this file from `exports.py`."""

from betarce.features.rules.between import between as between
from betarce.features.rules.cost import cost as cost
from betarce.features.rules.derived import derived as derived
from betarce.features.rules.kind import categorical as categorical
from betarce.features.rules.kind import continuous as continuous
from betarce.features.rules.kind import integer as integer
from betarce.features.rules.kind import ordinal as ordinal
from betarce.features.rules.may_be_missing import may_be_missing as may_be_missing
from betarce.features.rules.movement import at_most as at_most
from betarce.features.rules.movement import decrease_only as decrease_only
from betarce.features.rules.movement import immutable as immutable
from betarce.features.rules.movement import increase_only as increase_only
from betarce.features.rules.no_more_than import no_more_than as no_more_than
from betarce.features.rules.one_hot import one_hot as one_hot
from betarce.features.rules.one_of import one_of as one_of
from betarce.features.rules.transitions import transitions as transitions

__all__ = [
    "at_most",
    "between",
    "categorical",
    "continuous",
    "cost",
    "decrease_only",
    "derived",
    "immutable",
    "increase_only",
    "integer",
    "may_be_missing",
    "no_more_than",
    "one_hot",
    "one_of",
    "ordinal",
    "transitions",
]
