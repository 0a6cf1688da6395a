"""
From DiCE to certified points
=============================

Counterfactuals from dice-ml, used directly as its own users do, made robust and certified.

Install: ``pip install 'betarce[dice]'``. Run: ``python examples/foreign_dice.py`` (under a minute).

Three ways in: a function that calls dice-ml, ready-made points, and the base method "dice", which does all this.
"""

import contextlib
import io

import dice_ml
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import betarce as brce

# %%
# 1. A table with names and numbers, and a model that takes it as it is. dice-ml wants few columns: each costs it time.
loans = brce.datasets.load_loan(n=900)
table = loans.X[["income", "debt", "savings", "loan_amount", "housing"]].astype(
    {"housing": str}
)
train, y, applicants = table[:700], loans.y[:700], table[700:]
encode = ColumnTransformer(
    [("names", OneHotEncoder(handle_unknown="ignore"), ["housing"])],
    remainder=StandardScaler(),
)
model = make_pipeline(encode, LogisticRegression()).fit(train, y)

# %%
# 2. dice-ml as its documentation shows it.
numbers = ["income", "debt", "savings", "loan_amount"]
data = dice_ml.Data(
    dataframe=train.assign(approved=y),
    continuous_features=numbers,
    outcome_name="approved",
)
dice = dice_ml.Dice(
    data, dice_ml.Model(model=model, backend="sklearn"), method="random"
)


def ask_dice(x, _model, target):
    """Give the first counterfactual of dice-ml for one row (a Series), as a row of the same table."""
    row = pd.DataFrame([x]).astype(train.dtypes)
    with contextlib.redirect_stderr(io.StringIO()):  # its progress bar
        answer = dice.generate_counterfactuals(
            row, total_CFs=1, desired_class=int(target), random_seed=0
        )
    return (
        answer.cf_examples_list[0]
        .final_cfs_df[train.columns]
        .astype(train.dtypes)
        .iloc[0]
    )


# %%
# 3. As a function: betarce calls it once per row. Rules hold in what is handed out, whether or not dice-ml knows them.
rules = {"housing": brce.immutable(), "debt": brce.decrease_only()}
rce = brce.BetaRCE(
    model, base=ask_dice, features=rules, delta=0.9, confidence=0.95, random_state=0
).fit(train, y)
rejected = applicants[model.predict(applicants) == 0][:4]
result = rce.explain(rejected, target=1)
print(result, "\n")
print(result.changes().to_string(), "\n")
assert all(item.status == "certified" for item in result)
assert (model.predict(result.robust) == 1).all()
assert (result.robust["housing"] == rejected["housing"]).all()
assert (result.robust["debt"] <= rejected["debt"]).all()

# %%
# 4. As ready-made points: from a file, another service, yesterday's run. Would they survive retraining as they are?
points = pd.DataFrame([ask_dice(x, model, 1) for _, x in rejected.iterrows()]).astype(
    train.dtypes
)
points.index = rejected.index
verdicts = rce.certify(points, target=1)
print(verdicts.to_frame().to_string(), "\n")
again = rce.explain(rejected, target=1, base_points=points)
# The same bases, the same answer.
pd.testing.assert_frame_equal(again.robust, result.robust)

# %%
# 5. The built-in base method hands the rules to dice-ml, asks for several, and takes the closest one that is valid.
built_in = brce.BetaRCE(
    model,
    base=brce.explainers.Dice("random", n_counterfactuals=8),
    features=rules,
    delta=0.9,
    confidence=0.95,
    random_state=0,
).fit(train, y)
closer = built_in.explain(rejected, target=1)
assert all(item.status == "certified" for item in closer)
far, near = (
    np.mean([item.distance_to_original for item in each]) for each in (result, closer)
)
print(
    f"Mean distance of the robust points to the originals: {far:.2f} by the function, {near:.2f} built in."
)
assert near < far

# sphinx_gallery_thumbnail_path = 'figures/page_row.png'
