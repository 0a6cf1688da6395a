"""How fast linear members answer together, against one call per member and candidate."""

from collections.abc import Iterator

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, minmax_scale

from timing import N_CANDIDATES, N_MEMBERS, Record, answering, candidates, one_thread


def run() -> Iterator[Record]:
    """Measure plain logistic regression, then logistic regression behind a scaler."""
    X, y = load_breast_cancer(return_X_y=True)
    models = {
        "logistic": (LogisticRegression(max_iter=1000), minmax_scale(X)),
        "scaler + logistic": (make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), X),
    }
    with one_thread():
        for name, (model, inputs) in models.items():
            samples = (np.random.default_rng(i).integers(0, len(X), len(X)) for i in range(N_MEMBERS))
            members = [clone(model).fit(inputs[rows], y[rows]) for rows in samples]
            yield answering(name, members, candidates(inputs, N_CANDIDATES), least=100)
