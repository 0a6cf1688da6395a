"""
What more robustness costs
==========================

The frontier of one row: how far one has to go, for how many retrained models to agree. It is what a choice of
``delta`` is made of.
"""

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce

loans = brce.datasets.load_loan(n=500).numeric()
train, y, applicants = loans.X[:350], loans.y[:350], loans.X[350:]
rce = brce.BetaRCE(
    make_pipeline(StandardScaler(), LogisticRegression()), random_state=0
).fit(train, y)
rejected = applicants[rce.model_.predict(applicants) == 0]

# %%
frontier = rce.frontier(rejected.iloc[0])
print(frontier.to_frame().head().to_string())

# %%
# Each dot is the closest point found at one level of depth. The certifying members walk from the right to the left
# until the first miss.
frontier.plot()
