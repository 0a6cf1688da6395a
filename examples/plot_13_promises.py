"""
Promises, and whether they were kept
====================================

Advice is a promise. A ledger keeps what was promised, and asks each new model before it is deployed.
"""

from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce

loans = brce.datasets.load_loan(n=1200).numeric()
train, y, applicants = loans.X[:400], np.asarray(loans.y[:400]), loans.X[400:]
model = make_pipeline(StandardScaler(), LogisticRegression())
rce = brce.BetaRCE(model, n_models="few", random_state=0).fit(train, y)
rejected = applicants[rce.model_.predict(applicants) == 0][:40]
result = rce.explain(rejected, target=1)
rce.audit(result, n_models=59)  # models to compare later ones with

# %%
# Three deployments: two of the declared kind, and one after half of the labels of people with large savings were
# turned around.
ledger = brce.Ledger(Path(mkdtemp()) / "promises.db")
ledger.record(result, run=rce)
rng = np.random.default_rng(0)
for month in ("2026-01", "2026-02"):
    rows = rng.integers(len(train), size=len(train))
    print(
        ledger.recheck(model.fit(train.iloc[rows], y[rows]), run=rce, name=month), "\n"
    )

turned = np.where(
    (train["savings"] > train["savings"].quantile(0.6)) & (rng.random(len(y)) < 0.5),
    1 - y,
    y,
)
print(ledger.recheck(model.fit(train, turned), run=rce, name="2026-03", deployed=True))

# %%
# Promised against realised, deployment by deployment.
monitor = ledger.monitor()
print(monitor.deployments().to_string())
monitor.plot()
