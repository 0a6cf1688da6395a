"""Rules about columns: what a value is, how it may move, where it may end.

One module per rule. A new one is a module with a class that inherits from `RulePart`, decorated by `rule`; the line
that imports its function below makes it known.
"""

from betarce.features.rules.between import between
from betarce.features.rules.cost import cost
from betarce.features.rules.derived import derived
from betarce.features.rules.kind import categorical, continuous, integer, ordinal
from betarce.features.rules.may_be_missing import may_be_missing
from betarce.features.rules.movement import at_most, decrease_only, immutable, increase_only
from betarce.features.rules.no_more_than import no_more_than
from betarce.features.rules.one_hot import one_hot
from betarce.features.rules.one_of import one_of
from betarce.features.rules.protocol import Guide, Rule, RulePart, Scope, check_rule
from betarce.features.rules.reach import Ends, Moves
from betarce.features.rules.registry import RULES, rule
from betarce.features.rules.relation import Relation
from betarce.features.rules.transitions import transitions

__all__ = [
    "RULES",
    "Ends",
    "Guide",
    "Moves",
    "Relation",
    "Rule",
    "RulePart",
    "Scope",
    "at_most",
    "between",
    "categorical",
    "check_rule",
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
    "rule",
    "transitions",
]
