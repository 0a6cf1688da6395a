"""
Models of last year
===================

There is no recipe to retrain, but there are models: one per month, or per branch. ``Given`` takes them as a sample of
those to come.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce

loans = brce.datasets.load_loan(n=2000).numeric()
train, y, applicants = loans.X[:1600], np.asarray(loans.y[:1600]), loans.X[1600:]

# %%
# 48 models, each trained on what one branch had seen.
rng = np.random.default_rng(0)
branches = [rng.choice(len(train), size=400, replace=False) for _ in range(48)]
models = [
    make_pipeline(StandardScaler(), LogisticRegression()).fit(train.iloc[rows], y[rows])
    for rows in branches
]
print(
    f"33 of them can certify {brce.Guarantee(confidence=0.95).max_delta(33):.3f} at most"
)

# %%
# The first is the model explained; 15 steer, 32 decide, all must agree for delta 0.9.
rce = brce.BetaRCE(
    models[0],
    space=brce.Given(models[1:]),
    n_models=(15, 32),
    delta=0.9,
    random_state=0,
)
rce.fit(train, y)
rejected = applicants[rce.model_.predict(applicants) == 0][:12]
result = rce.explain(rejected, target=1)
print(result)

# %%
# The scores that all 48 models give to each certified row: every model decides for itself, above or below one half.
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
scores = np.array([model.predict_proba(result.robust)[:, 1] for model in models])
ax.boxplot(scores, tick_labels=[str(name) for name in result.robust.index])
ax.axhline(0.5, color="black", linewidth=1)
ax.set(xlabel="certified row", ylabel="probability of approval")
