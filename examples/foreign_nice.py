"""
From NICE, or any function, to certified points
===============================================

Counterfactuals from NICE (Brughmans et al., 2023), or from any function of yours, made robust and certified.

Install: ``pip install --no-deps NICEx`` (Apache 2.0, needs numpy and scipy; without ``--no-deps`` it asks for a pandas
that is years old, which it never uses). Run: ``python examples/foreign_nice.py`` (under a minute). Without NICE, the
second half runs alone.
"""

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce

loans = brce.datasets.load_loan(n=900).numeric()
table = loans.X[["income", "debt", "savings", "loan_amount", "late_payments"]].astype(
    float
)
train, y, applicants = table[:700], np.asarray(loans.y[:700]), table[700:]
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train, y)
rejected = applicants[model.predict(applicants) == 0][:4]
rules = {"late_payments": brce.immutable(), "income": brce.increase_only()}


def frame(rows):
    return pd.DataFrame(rows, columns=train.columns)


def robust_by(base):
    """Make the points of any base robust, and check what is promised of every one of them."""
    rce = brce.BetaRCE(
        model, base=base, features=rules, delta=0.9, confidence=0.95, random_state=0
    ).fit(train, y)
    result = rce.explain(rejected, target=1)
    print(result)
    print(result.changes().to_string(), "\n")
    assert all(item.status == "certified" for item in result), [
        item.reason for item in result
    ]
    assert (model.predict(result.robust) == 1).all()
    assert (result.robust["late_payments"] == rejected["late_payments"]).all()
    assert (result.robust["income"] >= rejected["income"]).all()
    return rce, result


# %%
# 1. NICE walks from the row towards its nearest neighbour of the other class. It knows arrays, and no rules.
try:
    from nice import NICE
except ImportError:
    print("NICE is not installed; going on without it.\n")
else:
    nice = NICE(
        predict_fn=lambda rows: model.predict_proba(frame(rows)),
        X_train=train.to_numpy(copy=True),  # it writes into what it is given
        y_train=y,
        cat_feat=[],
        optimization="proximity",
    )

    def ask_nice(x, _model, target):
        """Give NICE's counterfactual for one row; the target is a list of class codes."""
        return nice.explain(
            x.to_numpy(dtype=float, copy=True)[None], target_class=[int(target)]
        )[0]

    rce, result = robust_by(ask_nice)
    points = frame([ask_nice(x, model, 1) for _, x in rejected.iterrows()]).set_index(
        rejected.index
    )
    # As they are: how many survive retraining?
    print(rce.certify(points, target=1).to_frame().to_string(), "\n")
    again = rce.explain(rejected, target=1, base_points=points)
    # The same bases, the same answer.
    pd.testing.assert_frame_equal(again.robust, result.robust)


# %%
# 2. Any function will do. Here: Wachter's loss, minimised by scipy in units of each column's spread.
spread = train.std().to_numpy()


def wachter(x, model, target):
    """Minimise distance plus what is lacking to even odds; the function keeps to the row's own form, a Series."""
    start = x.to_numpy(dtype=float)

    def loss(step):
        p = model.predict_proba(frame((start + step * spread)[None]))[
            0, list(model.classes_).index(target)
        ]
        return np.abs(step).sum() + 200 * max(0.0, 0.55 - p)

    found = minimize(
        loss, np.full(len(start), 0.1), method="Powell", bounds=[(-3, 3)] * len(start)
    )
    return pd.Series(start + found.x * spread, index=x.index)


robust_by(wachter)

# sphinx_gallery_thumbnail_path = 'figures/page_row.png'
