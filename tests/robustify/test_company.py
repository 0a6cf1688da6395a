"""A row's answer does not depend on the rows it is explained with, whatever the model, the rules and the base."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import betarce as brce

RNG = np.random.default_rng(3)
TABLE = pd.DataFrame(
    {
        "a": RNG.integers(0, 20, 120),
        "b": RNG.normal(50, 20, 120).round(2),
        "k": RNG.choice(["u", "v", "w"], 120),
        "m": RNG.choice(["x", "y"], 120),
    }
)
TABLE["cap"] = TABLE["a"] + RNG.integers(0, 10, 120)
TABLE["s"] = TABLE["a"] * 2 + TABLE["b"]
SCORE = TABLE["a"] * 3 + TABLE["b"] + 20 * (TABLE["k"] == "u") + RNG.normal(0, 10, 120)
LABELS = (SCORE > 95).astype(int).to_numpy()
ROWS = TABLE[LABELS == 0][:6]

MODELS = {
    "boosting": HistGradientBoostingClassifier(max_iter=6),
    "forest": RandomForestClassifier(6, random_state=0),
    "support vectors": SVC(C=5),
    "neighbours": KNeighborsClassifier(5),
    "network": MLPClassifier((8,), solver="lbfgs", alpha=1.0, max_iter=5000, random_state=0),
}
RULES = {
    "transitions": {"k": brce.transitions({"u": ["v"], "v": ["u", "w"], "w": ["u"]})},
    "one of": {"a": brce.one_of([1, 5, 9, 13]), "k": brce.one_of(["u", "v"])},
    "links": {"a": brce.no_more_than("cap"), "s": brce.derived("a * 2 + b")},
    "few changes": {"a": brce.cost(3.0), "b": brce.at_most(40)},
}


def fitted(model, rules, base):
    preparing = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["k", "m"]), (StandardScaler(), ["a", "b", "cap", "s"])
    )
    return brce.BetaRCE(
        make_pipeline(preparing, MODELS[model]),
        features=RULES[rules],
        base=base,
        max_changes=2 if rules == "few changes" else None,
        delta=0.6,
        confidence=0.7,
        n_models=(4, 12),
        random_state=0,
        n_jobs=1,
        verbose=-1,
    ).fit(TABLE, LABELS)


def said(item):
    """All that an answer says, but for its time."""
    points = [None if point is None else point.tobytes() for point in item.points.values()]
    return item.status, item.reason, str(item.certificate), item.votes, item.n_evaluations, item.base_agree, points


@pytest.mark.slow
@pytest.mark.parametrize("base", [None, "growing-spheres", "nice"])
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("model", MODELS)
def test_alone_together_and_shuffled_a_row_has_one_answer(model, rules, base):
    rce = fitted(model, rules, base)
    together = [said(item) for item in rce.explain(ROWS, target=1)]
    order = np.random.default_rng(0).permutation(len(ROWS))
    shuffled = [said(item) for item in rce.explain(ROWS.iloc[order], target=1)]
    alone = [said(rce.explain(ROWS.iloc[[i]], target=1)[0]) for i in range(len(ROWS))]
    assert alone == together
    assert [shuffled[place] for place in np.argsort(order)] == together
