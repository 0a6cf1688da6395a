"""What the user asked for, checked: the columns and the guarantee."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from betarce.errors import InvalidInput
from betarce.features import FeatureSpace, RawTable
from betarce.posterior import Guarantee, check_prior, check_vote_decides
from betarce.rules import read_rules


def check_guarantee(delta: float, confidence: float, prior: Any, certify_on: str) -> Guarantee:
    """Give the guarantee that is asked for; where the search members certify, "exact" stands for the paper's prior."""
    prior = "jeffreys" if certify_on == "search" and prior == "exact" else prior
    guarantee = Guarantee(delta, confidence, check_prior(prior))
    check_vote_decides(guarantee)
    return guarantee


def check_count(n_models: Any) -> int:
    """Refuse what is no number of members."""
    if isinstance(n_models, bool) or not isinstance(n_models, (int, np.integer)) or n_models < 1:
        raise InvalidInput(f"`n_models` must be a whole number >= 1; got {n_models!r}.")
    return int(n_models)


def check_features(features: Any, table: RawTable, max_changes: int | None = None) -> FeatureSpace:
    """Turn what the user said about the columns into a feature space, inferred where silent.

    `max_changes` comes before what a feature space or a file says about it.
    """
    space = _space(features, table)
    return space if max_changes is None else replace(space, max_changes=max_changes)


def _space(features: Any, table: RawTable) -> FeatureSpace:
    if isinstance(features, FeatureSpace):
        return features
    path = os.fspath(features) if isinstance(features, (str, os.PathLike)) else ""
    if path.lower().endswith((".toml", ".yaml", ".yml")):
        rules = read_rules(path)
        return FeatureSpace.infer(table, rules=rules, max_changes=rules.max_changes)
    if features is not None and not isinstance(features, Mapping):
        raise InvalidInput(
            "`features` must be a FeatureSpace, a mapping of column to rule such as "
            f"{{'age': betarce.immutable()}}, a path that ends in .toml or .yaml, or None; got {features!r}."
        )
    return FeatureSpace.infer(table, rules=features)
