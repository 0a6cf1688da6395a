"""Results as pandas DataFrames."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from betarce.features import FeatureSpace

if TYPE_CHECKING:
    from betarce.results.counterfactual import RobustCounterfactual


def whole_frame(points: Mapping[str, pd.DataFrame], items: Sequence["RobustCounterfactual"]) -> pd.DataFrame:
    """Put tables of points side by side, then what is known of each answer; columns have two levels or more."""
    names = next(iter(points.values())).index
    blocks = {**points, "result": pd.DataFrame([_cells(item) for item in items], index=names)}
    # A column whose name has several levels has them all below "original"; the others fill up with "".
    levels = {block: [_levels(name) for name in table.columns] for block, table in blocks.items()}
    deepest = max(len(parts) for block in levels.values() for parts in block)
    columns = [
        (block, *parts, *[""] * (deepest - len(parts))) for block, all_parts in levels.items() for parts in all_parts
    ]
    flat = [table.set_axis(range(table.shape[1]), axis=1) for table in blocks.values()]
    return pd.concat(flat, axis=1).set_axis(pd.MultiIndex.from_tuples(columns), axis=1)


def changes(items: Sequence["RobustCounterfactual"]) -> pd.DataFrame:
    """List what differs between the original or the base and the robust point, one line per row and feature."""
    lines = []
    for item in items:
        original, base, robust = item.points["original"], item.points["base"], item.points["robust"]
        if original is None or base is None or robust is None:
            continue
        features = item.features
        moved = features.differs(original, robust) | features.differs(base, robust)
        table = as_pandas(features.decode(np.stack([original, base, robust])), features)
        for k, reading in enumerate(features.readings):
            if moved[reading.source]:
                lines.append([item.name, reading.name, *(_readable(table.iloc[i, k]) for i in range(3))])
    # As objects: beside a fraction in another line, 32 would become 32.0.
    table = pd.DataFrame(lines, columns=["row", "feature", "from", "base", "to"], dtype=object)
    return table.assign(**{name: table[name].infer_objects() for name in ("row", "feature")})


def _readable(value: Any) -> Any:
    """Write 38.3 for what single precision holds as 38.299999."""
    return float(str(value)) if isinstance(value, np.float32) else value


def as_pandas(table: Any, features: FeatureSpace) -> pd.DataFrame:
    """Turn a table of any kind into a DataFrame of pandas."""
    if isinstance(table, pd.DataFrame):
        return table
    names = features.form.names
    if isinstance(table, np.ndarray):
        return pd.DataFrame(table, columns=pd.Index(names)).infer_objects()
    return pd.DataFrame({name: table[name].to_list() for name in names})


def _levels(name: Hashable) -> tuple[Hashable, ...]:
    return name if isinstance(name, tuple) else (name,)


def _cells(item: "RobustCounterfactual") -> dict[str, Any]:
    vote = item.certificate
    return {
        "target": item.target,
        "status": item.status,
        "lower_bound": np.nan if vote is None else vote.lower_bound,
        "n_agree": pd.NA if vote is None else vote.n_agree,
        "n_models": pd.NA if vote is None else vote.n_models,
        "base_agree": pd.NA if item.base_agree is None else item.base_agree,
        "features_changed": _n_changed(item),
        "distance_to_base": item.distance_to_base,
        "distance_to_original": item.distance_to_original,
        "n_evaluations": item.n_evaluations,
        "reason": item.reason,
        "note": item.note,
    }


def _n_changed(item: "RobustCounterfactual") -> Any:
    original, robust = item.points["original"], item.points["robust"]
    return pd.NA if original is None or robust is None else int(item.features.differs(original, robust).sum())
