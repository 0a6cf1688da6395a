"""What the user asked for, checked: how many members for which role, and what the columns are."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from betarce.errors import InvalidInput
from betarce.features import FeatureSpace, RawTable, read_rules
from betarce.posterior import Guarantee
from betarce.spaces import Given, Space


def role_sizes(n_models: Any, certify_on: str, guarantee: Guarantee, space: Space) -> dict[str, int]:
    """Say how many members each role gets, and that so many can give the guarantee.

    Examples
    --------
    >>> from betarce.spaces import Seed
    >>> role_sizes("auto", "holdout", Guarantee(0.9, 0.95), Seed())
    {'search': 38, 'certify': 38}
    """
    if certify_on not in ("holdout", "search"):
        raise InvalidInput(f"`certify_on` must be 'holdout' or 'search'; got {certify_on!r}.")
    roles = ("search", "certify") if certify_on == "holdout" else ("search",)
    if isinstance(n_models, str) and n_models == "auto":
        n = guarantee.min_models(allowed_dissent=1)
        if isinstance(space, Given):
            n = len(space) // len(roles)
        counts = [n, n]
    elif isinstance(n_models, (int, np.integer)) and not isinstance(n_models, bool):
        counts = [int(n_models)] * 2
    else:
        try:
            counts = [int(n) for n in n_models]
        except (TypeError, ValueError):
            counts = []
        if len(counts) != 2:
            raise InvalidInput(
                f"`n_models` must be 'auto', a whole number, or a pair (search, certify); got {n_models!r}."
            )
    sizes = dict(zip(roles, counts, strict=False))
    for n in sizes.values():
        guarantee.quorum(n)
    return sizes


def check_features(features: Any, table: RawTable) -> FeatureSpace:
    """Turn what the user said about the columns into a feature space, inferred where silent."""
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
