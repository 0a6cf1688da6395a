"""
Any black box
=============

A model needs ``fit`` and ``predict``, no more. Here it is a class of our own that gives labels only: no
probabilities, no gradients. CatBoost, a model behind a service, or rules of thumb go the same way.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

import betarce as brce


class Neighbours(ClassifierMixin, BaseEstimator):
    """The majority of the nine nearest rows, after scaling."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.rows_, self.labels_ = np.asarray(X, dtype=float), np.asarray(y)
        self.spread_ = self.rows_.std(axis=0)
        return self

    def predict(self, X):
        away = np.abs(
            np.asarray(X, dtype=float)[:, None] / self.spread_
            - self.rows_ / self.spread_
        ).sum(axis=2)
        nearest = np.argpartition(away, 9, axis=1)[:, :9]
        return (self.labels_[nearest].mean(axis=1) > 0.5).astype(int)


# %%
# Such members are asked one by one, and a warning says that this takes longer than for models that can be stacked.
loans = brce.datasets.load_loan(n=300).numeric()
table = loans.X[["income", "debt", "savings", "loan_amount"]]
train, y, applicants = table[:200], loans.y[:200], table[200:]
rce = brce.BetaRCE(
    Neighbours(), delta=0.8, confidence=0.9, n_models=(10, 38), random_state=0
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", brce.errors.SlowMembers)
    rce.fit(train, y)
    rejected = applicants[rce.model_.predict(applicants) == 0][:4]
    result = rce.explain(rejected, target=1)
print(result.changes().to_string())

# %%
# Debt and savings of the applicants, before and after.
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.scatter(train["debt"], train["savings"], c=y, cmap="coolwarm_r", s=12, alpha=0.6)
for item in result:
    if item.status == "certified":
        start, end = (
            row[["debt", "savings"]].astype(float)
            for row in (item.original, item.robust)
        )
        ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "lw": 2})
ax.set(xlabel="debt", ylabel="savings", title="blue: approved, red: rejected")
