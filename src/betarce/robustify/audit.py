"""Compare what was promised with the votes of fresh members."""

from typing import Any

import numpy as np
import pandas as pd

from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.features import FeatureSpace
from betarce.results.counterfactual import RobustCounterfactual, Which
from betarce.results.result import Result


def check_audited(result: Any, features: FeatureSpace) -> None:
    """Refuse what is no result, or one of another table, before any member is trained for it."""
    if not isinstance(result, Result):
        raise InvalidInput(f"`result` must be what `explain` returned; got {type(result).__name__}.")
    if not features.reads_like(result.features):
        raise InvalidInput("`result` must come from a table with the columns that this explainer was fitted on.")


def audit_frame(result: Result, members: Ensemble) -> pd.DataFrame:
    """Put the promise for each row beside the share of members under which its points are valid.

    Returns
    -------
    DataFrame
        One line per row: "promised", "robust" and "base"; NaN where there is no such point.
    """
    promised = [
        item.certificate.lower_bound if item.status == "certified" and item.certificate else np.nan for item in result
    ]
    columns = {which: [_validity(item, which, members) for item in result] for which in ("robust", "base")}
    return pd.DataFrame({"promised": promised, **columns}, index=result.row_names)


def _validity(item: RobustCounterfactual, which: Which, members: Ensemble) -> float:
    point = item.points[which]
    if point is None:
        return np.nan
    wanted = np.isin(members.classes, item.target)[None]
    return float(members.votes(point[None], wanted)[0] / len(members))
