"""Summary tables of a batch of answers."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from betarce.arrays import FloatArray
from betarce.features import FeatureSpace
from betarce.results.changes import steps

if TYPE_CHECKING:
    from betarce.results.counterfactual import RobustCounterfactual

By = Literal["measure", "feature"]
_STATISTICS = ("median", "mean", "min", "max")


def by_measure(items: Sequence["RobustCounterfactual"]) -> pd.DataFrame:
    """Count the rows by status, then sum up what was measured on them."""
    counts = Counter(item.status for item in items)
    others = [(status, n) for status, n in counts.most_common() if status != "certified"]
    lines: dict[str, dict[str, float]] = {
        name: {"rows": n} for name, n in [("all", len(items)), ("certified", counts["certified"]), *others]
    }
    for name, values in _measured(items).items():
        known = values[~np.isnan(values)]
        lines[name] = {"rows": known.size, **{s: getattr(np, s)(known) for s in _STATISTICS if known.size}}
    table = pd.DataFrame.from_dict(lines, orient="index", columns=["rows", *_STATISTICS])
    return table.astype({"rows": int, **dict.fromkeys(_STATISTICS, float)})


def _measured(items: Sequence["RobustCounterfactual"]) -> dict[str, FloatArray]:
    certified = [item for item in items if item.status == "certified"]
    return {
        "distance_to_base": np.array([item.distance_to_base for item in certified], dtype=float),
        "distance_to_original": np.array([item.distance_to_original for item in certified], dtype=float),
        "features_changed": np.array([n_changed(item) for item in certified], dtype=float),
        "lower_bound": np.array([item.certificate.lower_bound for item in certified if item.certificate], dtype=float),
        "n_evaluations": np.array([item.n_evaluations for item in items], dtype=float),
        "ms": np.array([item.runtime_s * 1000 for item in items], dtype=float),
    }


def n_changed(item: "RobustCounterfactual") -> int:
    """Count the features in which the robust point differs from the original."""
    original, robust = item.points["original"], item.points["robust"]
    return 0 if original is None or robust is None else int(item.features.differs(original, robust).sum())


def by_feature(items: Sequence["RobustCounterfactual"], features: FeatureSpace) -> pd.DataFrame:
    """Say how often each feature changes and how far, the most frequent first."""
    pairs = [(item.points["original"], item.points["robust"]) for item in items if item.status == "certified"]
    shape = (len(pairs), len(features))
    before = np.array([original for original, _ in pairs], dtype=float).reshape(shape)
    after = np.array([robust for _, robust in pairs], dtype=float).reshape(shape)
    moved = features.differs(before, after)
    sizes = steps(features.columns, before, after)
    lines = [
        [
            column.title,
            int(moved[:, j].sum()),
            float(moved[:, j].mean()),
            *([pd.NA] * 2 if column.is_nominal else [int(way[:, j].sum()) for way in (after > before, after < before)]),
            float(np.median(sizes[moved[:, j], j])),
        ]
        for j, column in enumerate(features.columns)
        if moved[:, j].any()
    ]
    table = pd.DataFrame(lines, columns=["feature", "rows", "share", "up", "down", "median_change"])
    table = table.astype({"rows": int, "share": float, "up": "Int64", "down": "Int64", "median_change": float})
    return table.sort_values("rows", ascending=False, kind="stable").set_index("feature")
