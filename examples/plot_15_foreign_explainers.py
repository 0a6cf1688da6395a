"""
Explainers of your own, and of other libraries
==============================================

Any function that recommends a point can be the base. It is made robust with as small a step as possible, and points
from elsewhere get a verdict as they are.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce

loans = brce.datasets.load_loan(n=500).numeric()
train, y, applicants = (
    loans.X[:350].astype(float),
    loans.y[:350],
    loans.X[350:].astype(float),
)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train, y)
rejected = applicants[model.predict(applicants) == 0][:15]
centre = train[np.asarray(y) == 1].mean()


# %%
# A simple explainer: walk towards the average approved applicant until the model says yes.
def towards_the_average(x, model, target):
    """Take the first of a hundred steps that the model accepts."""
    steps = pd.DataFrame([x + share * (centre - x) for share in np.linspace(0, 1, 101)])
    return steps[model.predict(steps) == target].iloc[0]


# %%
# As ready-made points, for instance from a file: would they survive retraining as they are?
points = pd.DataFrame(
    [towards_the_average(x, model, 1) for _, x in rejected.iterrows()],
    index=rejected.index,
)
rce = brce.BetaRCE(model, base=towards_the_average, n_models="few", random_state=0).fit(
    train, y
)
before = rce.certify(points, target=1).to_frame()
print(before.head().to_string())

# %%
# As the base: the closest certified point to each of them.
result = rce.explain(rejected, target=1)
print(result)

# %%
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
after = result.to_frame()["result"]
places = np.arange(len(after))
ax.bar(
    places - 0.2,
    before["n_agree"],
    width=0.4,
    color="tab:orange",
    label="as recommended",
)
ax.bar(
    places + 0.2,
    after["n_agree"].astype(float),
    width=0.4,
    color="tab:blue",
    label="made robust",
)
ax.axhline(rce.guarantee_.quorum(46), color="black", linewidth=1, label="quorum")
ax.set(xlabel="applicant", ylabel="certifying members that agree")
ax.legend(loc="lower right")
