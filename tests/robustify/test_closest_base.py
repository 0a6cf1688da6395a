"""The base that is shown for contrast where the certified point is the closest to the person."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import betarce as brce

LOOSE = {"delta": 0.6, "confidence": 0.7, "n_models": (12, 8), "verbose": -1}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "model",
    [DecisionTreeClassifier(max_depth=6, random_state=0), RandomForestClassifier(8, max_depth=5, random_state=0)],
    ids=["tree", "forest"],
)
def test_what_is_shown_for_contrast_was_farther_than_the_certified_point(model, seed):
    loans = brce.datasets.load_loan(n=500, seed=seed).numeric()
    rce = brce.BetaRCE(model, random_state=seed, **LOOSE).fit(loans.X[:400], loans.y[:400])
    rows = loans.X[400:][rce.model_.predict(loans.X[400:]) == 0][:25]
    certified = [item for item in rce.explain(rows) if item.status == "certified"]
    assert len(certified) > 15
    scale = np.array([column.scale for column in rce.features_.columns])
    for item in certified:
        original, base, robust = (item.points[name] for name in ("original", "base", "robust"))
        far = np.abs(base - original) / scale, np.abs(robust - original) / scale
        assert far[0].sum() <= far[1].sum() + 1e-12
        assert rce.model_.predict(rce.features_.decode(base[None]))[0] == item.target
