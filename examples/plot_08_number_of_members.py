"""
Choosing the number of members
==============================

More certifying members buy closer points: few members certify only what nearly all of them accept.
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
rejected = applicants[model.predict(applicants) == 0][:20]

# %%
# What so many members must agree on, at delta 0.9 and confidence 0.95.
guarantee = brce.Guarantee(delta=0.9, confidence=0.95)
sizes = [29, 46, 103, 208]
for size in sizes:
    print(
        f"{guarantee.quorum(size)} of {size}: a share of {guarantee.quorum(size) / size:.3f}"
    )

# %%
mean_distances = []
for size in sizes:
    rce = brce.BetaRCE(model, n_models=(15, size), random_state=0).fit(train, y)
    distances = (
        rce.explain(rejected, target=1)
        .to_frame()[("result", "distance_to_original")]
        .astype(float)
    )
    mean_distances.append(np.nanmean(distances))

# %%
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(sizes, mean_distances, "o-")
ax.set(
    xlabel="certifying members",
    ylabel="mean distance from the applicant",
    ylim=(0, None),
)
