"""
A first explanation
===================

What should a rejected applicant change, so that she is approved by this model *and* by at least nine in ten of the
models that retraining may produce?
"""

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce

loans = brce.datasets.load_loan(n=500).numeric()
train, y, applicants = loans.X[:350], loans.y[:350], loans.X[350:]

# %%
# The model is any classifier; the space says how it may be retrained. ``fit`` trains it and its members.
model = make_pipeline(StandardScaler(), LogisticRegression())
rules = {
    "age": brce.immutable(),
    "late_payments": brce.immutable(),
    "employment_years": brce.immutable(),
}
rce = brce.BetaRCE(
    model,
    space=brce.Bootstrap(),
    delta=0.9,
    confidence=0.95,
    features=rules,
    random_state=0,
)
rce.fit(train, y)

# %%
# Many rows are explained at once; each answer has a certificate.
rejected = applicants[rce.model_.predict(applicants) == 0][:3]
result = rce.explain(rejected, target=1)
print(result.changes().to_string())
print(result[0].certificate)

# %%
# The picture of one row: what it has, what the closest plain counterfactual asks for, and the certified point.
result[0].plot()
