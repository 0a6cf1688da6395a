"""What was promised against what fresh members say."""

import numpy as np
import pandas as pd

from betarce.ensemble import Ensemble
from betarce.results.counterfactual import RobustCounterfactual, Which
from betarce.results.result import Result


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
