"""
More than two classes
=====================

With more than two classes, a row wants one of them, or any of several.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce

iris = load_iris(as_frame=True)
X = iris.data[["petal length (cm)", "petal width (cm)"]]
y = iris.target_names[iris.target]
model = make_pipeline(StandardScaler(), LogisticRegression())
rce = brce.BetaRCE(model, delta=0.9, random_state=0).fit(X, y)

# %%
# Each row may have a target of its own; a set accepts any of its classes.
rows = X.iloc[[10, 30, 60, 95]]
targets = ["versicolor", {"versicolor", "virginica"}, "virginica", "setosa"]
result = rce.explain(rows, target=targets)
print(
    result.to_frame()["result"][["target", "status", "n_agree", "n_models"]].to_string()
)

# %%
# An arrow leads from each row to its certified point. Colours are the classes that the model gives.
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
xs, ys = np.meshgrid(np.linspace(0.8, 7.1, 120), np.linspace(0, 2.7, 120))
grid = rce.model_.predict(type(X)({X.columns[0]: xs.ravel(), X.columns[1]: ys.ravel()}))
codes = np.searchsorted(rce.classes_, grid).reshape(xs.shape)
ax.contourf(
    xs,
    ys,
    codes,
    levels=[-0.5, 0.5, 1.5, 2.5],
    colors=["#c6dbef", "#fdd0a2", "#c7e9c0"],
)
ax.plot(*X.to_numpy().T, ".", color="0.6")
for item in result:
    if item.status == "certified":
        ax.annotate(
            "",
            item.robust.astype(float),
            item.original.astype(float),
            arrowprops={"arrowstyle": "->", "lw": 2},
        )
ax.set(xlabel=X.columns[0], ylabel=X.columns[1])
