"""The paper's numbers: spot checks against its LaTeX, and what is odd about them."""

import pandas as pd
import pytest

from betarce.datasets import PAPER_NAMES
from betarce.paper.published import PAPER_FOUR, published_comparison, published_correlation, published_generalisation

PAPER = published_comparison()


def line(family, base, data, method, **setting):
    chosen = PAPER[(PAPER[["family", "base", "data", "method"]] == [family, base, data, method]).all(axis=1)]
    for name, value in setting.items():
        chosen = chosen[chosen[name] == value]
    assert len(chosen) == 1
    return chosen.iloc[0]


@pytest.mark.parametrize(
    ("key", "setting", "printed"),
    [
        (
            ("network", "growing-spheres", "diabetes", "robx"),
            {"tau": 0.5, "variance": 0.01},
            "0.429 0.001 0.748 0.001 0.339 0.001 0.289 0.001 0.970 0.003 0.872 0.006 0.922 0.005",
        ),
        (
            ("network", "growing-spheres", "rice", "betarce"),
            {"delta": 0.9, "space": "seed"},
            "0.345 0.005 1.162 0.009 0.589 0.004 0.263 0.001 - - - - 0.953 0.003",
        ),
        (
            ("network", "dice", "diabetes", "betarce"),
            {"delta": 0.9, "space": "bootstrap"},
            "0.705 0.005 0.949 0.007 0.414 0.003 0.368 0.002 - - 0.886 0.006 - -",
        ),
        (
            ("lightgbm", "growing-spheres", "breast_cancer", "betarce"),
            {"delta": 0.8, "space": "architecture"},
            "1.868 0.05 3.336 0.059 0.752 0.013 0.868 0.011 0.902 0.008 - - - -",
        ),
        (
            ("logistic", "growing-spheres", "car", "growing-spheres"),
            {},
            "- - 0.514 0.000 0.506 0.000 1.057 0.001 0.635 0.009 0.626 0.009 0.662 0.009",
        ),
    ],
)
def test_lines_are_as_printed(key, setting, printed):
    found = line(*key, **setting)[PAPER.columns[8:]].astype(float)
    wanted = [None if number == "-" else float(number) for number in printed.split()]
    assert [None if pd.isna(number) else number for number in found] == wanted


def test_tables_have_the_data_sets_and_lines_of_the_paper():
    counts = PAPER.groupby(["family", "base"])["data"].agg(["size", "nunique"])
    assert counts.loc[("network", "growing-spheres")].tolist() == [78, 6]
    assert counts.loc[("network", "dice")].tolist() == [78, 6]
    assert counts.loc[("lightgbm", "growing-spheres")].tolist() == [44, 4]
    assert counts.loc[("logistic", "growing-spheres")].tolist() == [44, 4]
    assert set(PAPER["data"]) == set(PAPER_NAMES)
    assert set(PAPER.loc[PAPER["family"] == "lightgbm", "data"]) == set(PAPER_FOUR)
    assert (PAPER["space"] != "").equals(PAPER["method"] == "betarce")


def test_two_tables_of_the_paper_share_their_distances():
    keys = ["data", "method", "delta", "space", "nth"]
    numbered = PAPER.assign(
        nth=PAPER.groupby(["family", "base", "data", "method", "delta", "space"], dropna=False).cumcount()
    )
    dice = numbered[(numbered["family"] == "network") & (numbered["base"] == "dice")]
    both = dice.merge(numbered[numbered["family"] == "lightgbm"], on=keys, suffixes=("", "_lightgbm"))
    assert len(both) == 44
    for metric in ("distance_to_base", "proximity_l1", "proximity_l2", "plausibility"):
        pd.testing.assert_series_equal(both[metric], both[f"{metric}_lightgbm"], check_names=False)
    same = [
        (both[f"robustness_{space}"] == both[f"robustness_{space}_lightgbm"]) for space in ("architecture", "bootstrap")
    ]
    assert (same[0] & same[1]).sum() == 20
    spheres = PAPER[
        (PAPER["family"] == "network") & (PAPER["method"] == "growing-spheres") & (PAPER["data"] == "diabetes")
    ]
    assert spheres.set_index("base")["proximity_l1"].to_dict() == {"growing-spheres": 0.8, "dice": 0.596}


def test_matrices_and_correlations_are_as_printed():
    matrix = published_generalisation().set_index(["base", "original", "audited"])
    assert len(matrix) == 18
    assert matrix.loc[("growing-spheres", "bootstrap", "architecture")].tolist() == [0.939, 0.006]
    assert matrix.loc[("dice", "seed", "bootstrap")].tolist() == [0.805, 0.008]
    means = published_correlation().groupby("kind")["rho"].mean().round(2)
    assert means.to_dict() == {"pearson": -0.31, "spearman": -0.48}


def test_a_caller_may_change_what_it_gets():
    mine = published_comparison()
    mine["proximity_l1"] = 0.0
    assert published_comparison()["proximity_l1"].max() > 1
