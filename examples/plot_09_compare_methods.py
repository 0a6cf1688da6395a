"""
Methods side by side
====================

The same model, rows and rules for every method; the same fresh models judge all answers.
"""

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce

loans = brce.datasets.load_loan(n=500).numeric()
train, y, applicants = loans.X[:350], loans.y[:350], loans.X[350:]
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train, y)
rejected = applicants[model.predict(applicants) == 0][:15]

# %%
# ``betarce-paper`` is the paper's search, certified by the models that steered it.
comparison = brce.compare(
    [
        "growing-spheres",
        "nice",
        "face",
        "wachter",
        "roar",
        "robx",
        "betarce-paper",
        "betarce",
    ],
    model,
    "bootstrap",
    train,
    y,
    rows=rejected,
    n_audit=40,
    random_state=0,
)
print(comparison)

# %%
# Up and to the left is better.
comparison.plot()
