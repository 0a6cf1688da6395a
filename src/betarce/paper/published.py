"""The paper's own numbers, as it printed them."""

from functools import cache
from importlib.resources import files
from io import StringIO

import pandas as pd

PAPER_FOUR = ("heloc", "wine", "diabetes", "breast_cancer")
"""The four data sets of the paper's smaller tables, as far as it names them: those of its table for LightGBM."""


def published_comparison() -> pd.DataFrame:
    """Give the paper's four tables of the comparison as one.

    Its logistic table is captioned with DiCE as the base method; the text around it and its label say Growing Spheres,
    and so do we. The confidence is 0.95, one-sided, in all of them (in places the paper writes 0.9, two-sided).

    Returns
    -------
    DataFrame
        One line per table, data set and method: "family", "base", "data", "method" ("betarce" for BetaRCE), "tau" and
        "variance" of RobX, "delta" and "space" of BetaRCE, and for each metric its mean and, under "<metric>_se", its
        standard error. What the paper leaves open is NaN.

    Examples
    --------
    >>> table = published_comparison()
    >>> len(table)
    244
    >>> ours = table[(table["method"] == "betarce") & (table["data"] == "heloc") & (table["family"] == "lightgbm")]
    >>> ours[["space", "delta", "distance_to_base", "robustness_bootstrap"]].tail(1).to_dict("records")
    [{'space': 'bootstrap', 'delta': 0.9, 'distance_to_base': 3.793, 'robustness_bootstrap': 0.94}]
    """
    return _read("comparative").fillna({"space": ""})


def published_generalisation() -> pd.DataFrame:
    """Give the paper's two matrices of robustness under changes that were not prepared for.

    Returns
    -------
    DataFrame
        One line per base method and pair of spaces: "base", "original" (the space of the certificate), "audited" (the
        space of the members that measure), "robustness", "robustness_se".
    """
    return _read("generalisation")


def published_correlation() -> pd.DataFrame:
    """Give the paper's correlations of the distance to base with other metrics.

    Returns
    -------
    DataFrame
        One line each: "metric", "kind" ("pearson" or "spearman"), "rho".

    Examples
    --------
    >>> published_correlation()["rho"].tolist()
    [-0.31, -0.7, -0.31, -0.73, -0.31, -0.02]
    """
    return _read("correlation")


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(StringIO(_text(name)))


@cache
def _text(name: str) -> str:
    return (files("betarce.paper") / "published_numbers" / f"{name}.csv").read_text("utf-8")
