"""
Many rows on a Dask cluster
===========================

What a row gets does not depend on the other rows, so a large table is cut and its parts are explained anywhere. Here
the cluster is two threads of this process; with ``Client("tcp://HOST:8786")`` it is many machines.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from distributed import Client
from joblib import Parallel, delayed, parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce

loans = brce.datasets.load_loan(n=1000).numeric()
train, y, applicants = loans.X[:400], loans.y[:400], loans.X[400:]
rce = brce.BetaRCE(
    make_pipeline(StandardScaler(), LogisticRegression()),
    n_models="few",
    random_state=0,
).fit(train, y)
rejected = applicants[rce.model_.predict(applicants) == 0]

# %%
# ``scatter`` sends the members once.
parts = [rejected.iloc[cut] for cut in np.array_split(np.arange(len(rejected)), 6)]
with (
    Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None),
    parallel_config(backend="dask", scatter=[rce]),
):
    answers = Parallel()(
        delayed(brce.BetaRCE.explain)(rce, part, target=1) for part in parts
    )
together = pd.concat([answer.to_frame() for answer in answers])
print(together["result"]["status"].value_counts().to_string())

# %%
# The same points as in one process, to the bit.
alone = rce.explain(rejected, target=1).to_frame()
pd.testing.assert_frame_equal(together["robust"], alone["robust"])

# %%
figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.hist(together[("result", "distance_to_original")].astype(float), bins=30)
ax.set(xlabel="distance from the applicant", ylabel="applicants")
