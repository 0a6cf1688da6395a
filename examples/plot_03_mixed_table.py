"""
A mixed table, as it is
=======================

Whole numbers, decimals, names, ordered names and missing values. Encoders stay in the model's own pipeline; the
answer has the dtypes of the table.
"""

from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import betarce as brce

loans = brce.datasets.load_loan(n=500)
table = loans.X.copy()
table.loc[table.index[::17], "employment_years"] = None
train, y, applicants = table[:350], loans.y[:350], table[350:]

# %%
# The model takes this very table.
names = ["purpose", "housing", "education"]
encode = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), names),
    remainder=make_pipeline(SimpleImputer(), StandardScaler()),
)
model = make_pipeline(encode, LogisticRegression())

# %%
# ``transitions`` says which names may become which; ``increase_only`` follows the order of ordered names.
rules = {
    "age": brce.immutable(),
    "employment_years": brce.immutable(),
    "late_payments": brce.immutable(),
    "housing": brce.immutable(),
    "education": brce.increase_only() & brce.cost(3),
    "purpose": brce.transitions({"business": ["other"], "car": ["other"]}),
    "term_months": brce.one_of([12, 24, 36, 48, 60, 72, 84]),
}
rce = brce.BetaRCE(
    model, features=rules, max_changes=3, n_models="few", random_state=0
).fit(train, y)
print(rce.features_.describe().to_string())

# %%
rejected = applicants[rce.model_.predict(applicants) == 0][:12]
result = rce.explain(rejected, target=1)
print(result.changes().head(10).to_string())
assert (result.robust.dtypes == table.dtypes).all()

# %%
# How many certifying members accept each answer, and how many would have accepted the plain counterfactual.
result.plot_votes()
