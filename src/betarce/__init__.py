"""Counterfactual explanations that survive retraining, with a certificate that says how surely.

Names are imported when they are first used, so that ``import betarce`` costs next to nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "betarce.data": [
        "Dataset",
        "load",
        "load_loan",
    ],
    "betarce.ensemble": [
        "Ensemble",
    ],
    "betarce.errors": [
        "BetarceError",
        "BetarceWarning",
        "ConstantMembers",
        "CorruptFile",
        "DataUnavailable",
        "DegenerateSpace",
        "InvalidInput",
        "MemberFailed",
        "MemberWarning",
        "MissingExtra",
        "SlowMembers",
        "UnreachableGuarantee",
        "UnusableModel",
    ],
    "betarce.comparison.compare": [
        "Comparison",
        "compare",
    ],
    "betarce.comparison.metrics": [
        "distance_to_base",
        "empirical_robustness",
        "plausibility",
        "proximity",
        "sparsity",
        "validity",
    ],
    "betarce.comparison.weight_shifts": [
        "SampledShifts",
        "interval_margin",
        "interval_robust",
        "sampled_robust",
    ],
    "betarce.explainers": [
        "Closest",
        "Dice",
        "Face",
        "GrowingSpheres",
        "NearestUnlike",
        "Nice",
        "Rbr",
        "Roar",
        "RobX",
        "RobustNearest",
        "StabilityHistogram",
        "TRex",
        "Wachter",
        "stability",
        "stability_histogram",
    ],
    "betarce.features": [
        "FeatureSpace",
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
    "betarce.models.families": [
        "paper_model",
        "paper_ranges",
    ],
    "betarce.models.network": [
        "Network",
    ],
    "betarce.models.torch_bridge": [
        "network_from_torch",
        "network_to_torch",
    ],
    "betarce.models.validation": [
        "ValidationSplit",
    ],
    "betarce.posterior": [
        "Certificate",
        "EXACT",
        "Guarantee",
        "JEFFREYS",
        "Prior",
        "UNIFORM",
        "interval",
        "lower_bound",
        "max_delta",
    ],
    "betarce.robustify": [
        "BetaRCE",
        "Frontier",
        "Result",
        "RobustCounterfactual",
        "Verdict",
        "Verdicts",
    ],
    "betarce.search": [
        "FrontierSearch",
        "GrowingSpheresSearch",
    ],
    "betarce.spaces": [
        "Architecture",
        "Bootstrap",
        "Custom",
        "Given",
        "Mixture",
        "Seed",
    ],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'betarce' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
