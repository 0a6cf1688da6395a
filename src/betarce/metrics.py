"""Measures of the quality of counterfactuals, and of how they bear small shifts of a model's weights."""

from betarce.comparison.metrics import (
    distance_to_base,
    empirical_robustness,
    plausibility,
    proximity,
    robustness,
    sparsity,
    validity,
)
from betarce.comparison.weight_shifts import SampledShifts, interval_margin, interval_robust, sampled_robust

__all__ = [
    "SampledShifts",
    "distance_to_base",
    "empirical_robustness",
    "interval_margin",
    "interval_robust",
    "plausibility",
    "proximity",
    "robustness",
    "sampled_robust",
    "sparsity",
    "validity",
]
