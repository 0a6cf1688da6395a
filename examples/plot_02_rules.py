"""
Rules make advice that people can follow
========================================

The same applicants under three sets of rules. The more realistic the rules, the farther people have to go.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce

loans = brce.datasets.load_loan(n=500).numeric()
train, y, applicants = loans.X[:350], loans.y[:350], loans.X[350:]
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train, y)
rejected = applicants[model.predict(applicants) == 0][:15]

# %%
# Rules are joined by ``&``. A column without a rule may take every value that the training table has.
fixed = {
    name: brce.immutable() for name in ("age", "employment_years", "late_payments")
}
amounts = {
    "income": brce.increase_only() & brce.integer(step=500),
    "savings": brce.increase_only() & brce.integer(step=100),
    "debt": brce.decrease_only() & brce.integer(step=100),
}
limits = {
    "income": amounts["income"] & brce.at_most(5_000),
    "loan_amount": brce.at_most(5_000),
}
sets = {
    "no rules": {},
    "nobody gets younger": fixed,
    "one way only, round amounts": fixed | amounts,
    "and at most 5,000": fixed | amounts | limits,
}
results = {
    name: brce.BetaRCE(model, features=rules, n_models="few", random_state=0)
    .fit(train, y)
    .explain(rejected, target=1)
    for name, rules in sets.items()
}
print(results["and at most 5,000"].changes().head(8).to_string())

# %%
# Each dot is an applicant who got an answer.
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for height, result in enumerate(results.values()):
    distances = result.to_frame()[("result", "distance_to_original")].astype(float)
    ax.plot(distances, np.full(len(distances), height), "o", alpha=0.5)
    ax.plot(distances.mean(), height, "k|", markersize=20)
ax.set(
    yticks=range(len(results)),
    yticklabels=results,
    xlabel="distance from the applicant (L1, in ranges)",
)
ax.invert_yaxis()
