"""The public names of the package: one list behind what is imported by name, and behind its stubs.

`python tools/stub.py` writes `__init__.pyi` and `features/rules/__init__.pyi` from it; `tests/test_api.py` compares
them.
"""

from collections.abc import Mapping, Sequence
from typing import Final

# Modules and packages that are imported when they are first used: `betarce.datasets.load("diabetes")`.
NAMESPACES: Final[Sequence[str]] = (
    "datasets",
    "errors",
    "explainers",
    "ledger",
    "metrics",
    "models",
    "posterior",
    "rules",
    "search",
    "spaces",
    "testing",
)

# The functions that make rules, by their module in `features/rules/`. A new rule is its module and its line here.
RULE_HOMES: Final[Mapping[str, Sequence[str]]] = {
    "between": ["between"],
    "cost": ["cost"],
    "derived": ["derived"],
    "kind": ["categorical", "continuous", "integer", "ordinal"],
    "may_be_missing": ["may_be_missing"],
    "movement": ["at_most", "decrease_only", "immutable", "increase_only"],
    "no_more_than": ["no_more_than"],
    "one_hot": ["one_hot"],
    "one_of": ["one_of"],
    "transitions": ["transitions"],
}

# Where each name of the top level comes from.
HOMES: Final[Mapping[str, Sequence[str]]] = {
    "betarce.comparison.compare": ["Comparison", "compare"],
    "betarce.ensemble": ["Ensemble"],
    "betarce.features": ["FeatureSpace"],
    "betarce.ledger": ["Ledger"],
    "betarce.models": ["Network"],
    "betarce.posterior": ["Certificate", "Guarantee", "Prior"],
    "betarce.robustify": ["BetaRCE", "Frontier", "Result", "RobustCounterfactual", "Verdicts"],
    "betarce.rules": sorted([*(name for names in RULE_HOMES.values() for name in names), "read_rules", "write_rules"]),
    "betarce.runs": ["load"],
    "betarce.search": ["FrontierSearch", "GrowingSpheresSearch"],
    "betarce.spaces": ["Architecture", "Bootstrap", "Custom", "Given", "Mixture", "NewData", "Seed"],
}
