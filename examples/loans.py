"""
A tour of loans
===============

A tour: real tables, rules about what people can change, and promises that are checked.

Run: ``python examples/loans.py`` (about a minute). The loans are synthetic and come with the package.
"""

from pathlib import Path
from tempfile import mkdtemp

from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import betarce as brce

OUT = Path(mkdtemp(prefix="betarce-tour-"))

# %%
# 1. A table as banks have it: whole numbers, decimals, names, ordered names, missing values, and a column that is
#    computed from two others.
loans = brce.datasets.load_loan(n=1500)
table = loans.X.assign(burden=(loans.X["debt"] / loans.X["income"]).round(3))
table.loc[table.index[::17], "employment_years"] = None
train, applicants = table[:1100], table[1100:]

# %%
# 2. The model takes the table as it is. The bank approves only above 60 %, not above one half.
names = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
encode = ColumnTransformer(
    [("names", names, ["purpose", "housing", "education"])], remainder="passthrough"
)
model = FixedThresholdClassifier(
    make_pipeline(
        encode, HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8)
    ),
    threshold=0.6,
)

# %%
# 3. What an applicant can change, one sentence per column.
rules = {
    "age": brce.immutable(),
    "employment_years": brce.immutable(),
    "late_payments": brce.immutable(),
    "income": brce.increase_only() & brce.at_most(15_000),
    "savings": brce.increase_only() & brce.integer(step=100),
    "debt": brce.decrease_only() & brce.integer(step=100),
    "burden": brce.derived(lambda t: (t["debt"] / t["income"]).round(3)),
    "open_credits": brce.at_most(2),
    "loan_amount": brce.decrease_only() & brce.integer(step=500),
    "term_months": brce.one_of([12, 24, 36, 48, 60, 72, 84]),
    "purpose": brce.transitions({"business": ["other"], "car": ["other"]}),
    "housing": brce.transitions({"rent": ["with family"]}),
    "education": brce.increase_only(),
}

# %%
# 4. Fit: the model is trained, then retrained on bootstrapped rows, once to search with and once to certify with.
rce = brce.BetaRCE(
    model,
    features=rules,
    base=None,
    delta=0.9,
    confidence=0.95,
    random_state=0,
    n_jobs=2,
)
rce.fit(train, loans.y[:1100])
print(rce.features_.describe().to_string(), "\n")

# %%
# 5. Explain ten applicants at once. One of them tells us more: she cannot borrow less.
rejected = applicants[rce.model_.predict(applicants) == 0][:10]
first = rejected.index[0]
result = rce.explain(
    rejected, target=1, overrides={first: {"loan_amount": brce.immutable()}}
)
print(result)
print(result.changes().to_string(), "\n")
for item in result:
    print(
        f"{item.name}: {item.certificate if item.status == 'certified' else item.reason}"
    )

# %%
# 6. What is handed out is what was certified: same dtypes, allowed values, and the real model says yes.
assert (result.robust.dtypes == table.dtypes).all()
assert (rce.model_.predict(result.robust) == 1).all()
assert result.robust["term_months"].isin([12, 24, 36, 48, 60, 72, 84]).all()

# %%
# 7. Does the promise hold? Fresh models that nothing has seen.
print("\nPromised against realised, on 100 fresh models:")
print(rce.audit(result, n_models=100).round(3).to_string())

# sphinx_gallery_thumbnail_path = 'figures/page_overview.png'
