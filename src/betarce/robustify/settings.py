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

MOST_MEMBERS = 1_000_000  # of one role: nobody trains as many


def check_guarantee(delta: float, confidence: float, prior: Any, certify_on: str) -> Guarantee:
    """Give the guarantee that is asked for; where the search members certify, "exact" stands for the paper's prior."""
    if not isinstance(certify_on, str) or certify_on not in ("holdout", "search"):
        raise InvalidInput(f"`certify_on` must be 'holdout' or 'search'; got {certify_on!r}.")
    prior = "jeffreys" if certify_on == "search" and isinstance(prior, str) and prior == "exact" else prior
    guarantee = Guarantee(delta, confidence, check_prior(prior))
    check_vote_decides(guarantee)
    return guarantee


def check_count(n_models: Any, *, name: str = "n_models", least: int = 1) -> int:
    """Refuse what is no number of members."""
    if isinstance(n_models, bool) or not isinstance(n_models, (int, np.integer)) or n_models < least:
        raise InvalidInput(f"`{name}` must be a whole number >= {least}; got {n_models!r}.")
    if n_models > MOST_MEMBERS:
        raise InvalidInput(f"`{name}` must be at most {MOST_MEMBERS:,}; got {n_models!r}.")
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
        return FeatureSpace.infer(table, rules=read_rules(path))
    if features is not None and not isinstance(features, Mapping):
        raise InvalidInput(
            "`features` must be a FeatureSpace, a mapping of column to rule such as "
            f"{{'age': betarce.immutable()}}, a path that ends in .toml or .yaml, or None; got {features!r}."
        )
    return FeatureSpace.infer(table, rules=features)
