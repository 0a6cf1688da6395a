"""
Why certificates need fresh models
==================================

The paper certifies a point with the very models that steered the search to it. Among thousands of candidates the
closest that passes is one that those models happen to like. Fresh models tell.

This is one fit with one seed, an illustration: the two forms also differ in their search and in their number of
models. :doc:`../guarantee` measures over many fits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import betarce as brce

X, y = load_breast_cancer(return_X_y=True)
model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5, random_state=0)
settings = {
    "certified by the models that steered": {
        "certify_on": "search",
        "search": "growing-spheres",
        "n_models": 18,
    },
    "certified by fresh models": {"n_models": (38, 45)},
}

# %%
# Both promise delta 0.8 with confidence 0.95; both start from the same bases. Then 150 further models are asked.
rates = {}
for name, setting in settings.items():
    rce = brce.BetaRCE(
        model,
        base="growing-spheres",
        delta=0.8,
        confidence=0.95,
        random_state=0,
        verbose=-1,
        **setting,
    ).fit(X[:400], y[:400])
    result = rce.explain(X[400:440])
    rates[name] = rce.audit(result, n_models=150)["robust"].dropna()
    print(
        f"{name}: {result}, {np.mean(rates[name] >= 0.8):.0%} of the promises are true"
    )

# %%
# A true promise lies to the right of the line.
figure, axes = plt.subplots(2, 1, figsize=(7, 4), sharex=True, layout="constrained")
for ax, (name, rate) in zip(axes, rates.items(), strict=True):
    ax.hist(
        rate,
        bins=np.linspace(0.5, 1, 26),
        color="tab:orange" if "steered" in name else "tab:blue",
    )
    ax.axvline(0.8, color="black")
    ax.set(title=name, ylabel="points")
axes[1].set_xlabel("share of 150 further models that agree")
