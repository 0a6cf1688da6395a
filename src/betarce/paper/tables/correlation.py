"""Does a point lose quality as it moves away from its base? The paper's correlations, and ours."""

from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import FloatArray
from betarce.paper.prepared import check_records
from betarce.paper.published import published_correlation
from betarce.paper.records import CELL
from betarce.paper.tables.comparison import METHODS
from betarce.paper.tables.markdown import markdown_table

CHANGES = {"proximity_l1": "change_l1", "proximity_l2": "change_l2", "plausibility": "change_plausibility"}
_POINT = [*CELL, "row"]
_FRAME = [*_POINT, "method", "base", "delta", "distance_to_base", *CHANGES.values()]
_LEAST = 10  # points, for a coefficient of a group of its own
_WORDS = {"proximity_l1": "Proximity L1", "proximity_l2": "Proximity L2", "plausibility": "Plausibility"}


def distance_frame(records: pd.DataFrame) -> pd.DataFrame:
    """Give for each robust point how far it is from its base, and how much worse than the base it is.

    A cell asks a base method once per row, so the record of that method is the record of the very base point.

    Returns
    -------
    DataFrame
        One line an answer of a method that starts from a base: "data", "family", "space", "fold", "row", "method",
        "base", "delta", "distance_to_base" (L1), "change_l1", "change_l2" and "change_plausibility" (robust less base:
        positive is worse). Answers whose base has no record of its own are left out.

    Raises
    ------
    InvalidInput
        If there are no records, or a column is missing.
    """
    lines = check_records(records)
    answers = lines[lines["found"]]
    robust = answers[(answers["base"] != "") & answers["distance_to_base"].notna()].reset_index(drop=True)
    before = {metric: f"base_{metric}" for metric in CHANGES}
    bases = answers[answers["base"] == ""].drop(columns="base").rename(columns={"method": "base", **before})
    bases = bases[[*_POINT, "base", *before.values()]]
    robust = robust.merge(bases, on=[*_POINT, "base"], how="inner", validate="many_to_one")
    return robust.assign(**{CHANGES[metric]: robust[metric] - robust[before[metric]] for metric in CHANGES})[_FRAME]


def correlation_table(records: pd.DataFrame) -> pd.DataFrame:
    """Correlate the distance to base with what becomes of other metrics.

    The paper finds its coefficients, all negative, "between distance to base and other metrics", and says that the
    metrics deteriorate with the distance. Both hold if a metric of the base less that of the robust point was
    correlated: smaller is better in all three metrics, so that negative values are losses. This is computed here.

    A pooled coefficient also sees that data sets with more features have larger distances of all kinds. So "within"
    gives the median of the coefficients inside groups of one data set, family, space, base, method and delta.

    Returns
    -------
    DataFrame
        One line per method ("betarce-paper", "betarce", "robx" for all its settings, "all" for all of these), metric
        and "kind" ("pearson", "spearman"): "rho", "p" (as if points were independent, which those of one row are not:
        read it as a lower limit), "n", "within", "groups", "paper". Coefficients of fewer than three points, or of
        constant values, are NaN.

    Raises
    ------
    InvalidInput
        If there are no records, or a column is missing.
    """
    points = distance_frame(records)
    points = points.assign(method=["robx" if name.startswith("robx") else name for name in points["method"]])
    present = [name for name in ("betarce-paper", "betarce", "robx") if name in set(points["method"])]
    paper = published_correlation().set_index(["metric", "kind"])["rho"]
    groups = pd.DataFrame(
        [
            {"method": group["method"].iloc[0]} | {key: _correlation(group, *key)[0] for key in paper.index}
            for _, group in points.groupby(["data", "family", "space", "base", "method", "delta"], dropna=False)
            if len(group) >= _LEAST
        ],
        columns=["method", *paper.index],
    )
    lines = []
    for name in [*present, "all"] if len(present) > 1 else present:
        chosen = present if name == "all" else [name]
        part, inside = points[points["method"].isin(chosen)], groups[groups["method"].isin(chosen)]
        for key in paper.index:
            within = inside[key].astype(float).dropna()
            lines.append((name, *key, *_correlation(part, *key), len(part), within.median(), len(within), paper[key]))
    return pd.DataFrame(lines, columns=["method", "metric", "kind", "rho", "p", "n", "within", "groups", "paper"])


def correlation_markdown(table: pd.DataFrame) -> str:
    """Write the table of `correlation_table` for people."""
    parts = [
        "# Distance to base, and what becomes of other metrics",
        "Correlated: the L1 distance of a robust point to its base, with the metric of the base less that of the "
        "robust point. Smaller is better in all three metrics, so a negative coefficient says that points lose quality "
        "as they move away. The paper does not write down what it correlated; its signs and its words fit this. "
        "The metrics of the base are those of the very point that was moved.",
        "*rho* is over all points of a method, all data sets, models and spaces together; *within* is the median of "
        "the coefficients inside groups of one data set, model, space, base, method and delta, for a pooled "
        "coefficient also sees that data sets with more features have larger distances of all kinds. *p* takes points "
        "as independent, which those of one row are not.",
    ]
    rows = [
        {
            "Method": METHODS.get(line["method"], "all of these"),
            "Metric": _WORDS[line["metric"]],
            "Kind": line["kind"].capitalize(),
            "rho": _two(line["rho"]),
            "paper": _two(line["paper"]),
            "p": _p_words(line["p"]),
            "points": line["n"],
            "within": _two(line["within"]),
            "groups": line["groups"],
        }
        for line in table.to_dict("records")
    ]
    return "\n\n".join([*parts, markdown_table(pd.DataFrame(rows).set_index("Method"), left=3)]) + "\n"


def _correlation(part: pd.DataFrame, metric: str, kind: str) -> tuple[float, float]:
    from scipy.stats import pearsonr, spearmanr

    x, y = part["distance_to_base"].to_numpy(float), -part[CHANGES[metric]].to_numpy(float)
    if len(x) < 3 or _is_constant(x) or _is_constant(y):
        return np.nan, np.nan
    found: Any = (pearsonr if kind == "pearson" else spearmanr)(x, y)
    return float(found.statistic), float(found.pvalue)


def _is_constant(values: FloatArray) -> bool:
    return bool(np.ptp(values) <= 1e-12 * max(1.0, float(np.abs(values).max())))


def _two(value: float) -> str:
    return "-" if value != value else f"{value:.2f}"


def _p_words(p: float) -> str:
    return "-" if p != p else "< 0.001" if p < 0.001 else f"{p:.3f}"
