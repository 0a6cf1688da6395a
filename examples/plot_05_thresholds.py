"""
Other thresholds than one half
==============================

A bank that approves only above 70 % is a model with another threshold. Wrap it with scikit-learn; the advice follows.
"""

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce

loans = brce.datasets.load_loan(n=500).numeric()
train, y, applicants = loans.X[:350], loans.y[:350], loans.X[350:]
scores = make_pipeline(StandardScaler(), LogisticRegression())

# %%
# The threshold is part of the model, so every retrained member has it too.
rejected, distances = None, {}
for threshold in (0.5, 0.6, 0.7, 0.8):
    rce = brce.BetaRCE(
        FixedThresholdClassifier(scores, threshold=threshold),
        n_models="few",
        random_state=0,
    ).fit(train, y)
    if rejected is None:
        rejected = applicants[rce.model_.predict(applicants) == 0][:15]
    result = rce.explain(rejected, target=1)
    distances[threshold] = result.to_frame()[("result", "distance_to_original")].astype(
        float
    )
    print(threshold, result)

# %%
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.boxplot(
    list(distances.values()),
    tick_labels=[f"{threshold:.0%}" for threshold in distances],
)
ax.set(xlabel="approved above", ylabel="distance from the applicant")
