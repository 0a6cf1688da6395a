"""The public names of the package: one list behind the lazy imports of `__init__.py` and its stub.

`python tools/stub.py` writes `__init__.pyi` from it; `tests/test_api.py` compares the two.
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

# Where each name of the top level comes from.
HOMES: Final[Mapping[str, Sequence[str]]] = {
    "betarce.comparison.compare": ["Comparison", "compare"],
    "betarce.ensemble": ["Ensemble"],
    "betarce.features": ["FeatureSpace"],
    "betarce.ledger": ["Ledger"],
    "betarce.models": ["Network"],
    "betarce.posterior": ["Certificate", "Guarantee", "Prior"],
    "betarce.robustify": ["BetaRCE", "Frontier", "Result", "RobustCounterfactual", "Verdicts"],
    "betarce.rules": [
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
        "read_rules",
        "transitions",
        "write_rules",
    ],
    "betarce.runs": ["load"],
    "betarce.search": ["FrontierSearch", "GrowingSpheresSearch"],
    "betarce.spaces": ["Architecture", "Bootstrap", "Custom", "Given", "Mixture", "NewData", "Seed"],
}
