"""What LightGBM members could save by sharing one binned data set, and whether they would be the same models.

The share of a training that goes into binning bounds the gain. `docs/decisions/binning.md` says what follows.
"""

import time
from collections.abc import Callable
from typing import Any

import lightgbm as lgb
import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification

from timing import one_thread

QUIET = {"n_jobs": 1, "verbose": -1}
MODELS: dict[str, dict[str, Any]] = {"30 trees of 15 leaves": {"n_estimators": 30, "num_leaves": 15}, "100 of 31": {}}
N_FITS = 5


def seconds(work: Callable[[], object]) -> float:
    """Give the least seconds of the processor over some runs."""
    taken = []
    for _ in range(N_FITS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def binned(X: np.ndarray, y: np.ndarray) -> lgb.Dataset:
    return lgb.Dataset(X, y, params={"verbose": -1, "num_threads": 1}, free_raw_data=False).construct()


def trees(booster: lgb.Booster) -> str:
    return str(booster.model_to_string().split("parameters:")[0])


def same(X: np.ndarray, y: np.ndarray, rows: np.ndarray | None) -> bool:
    """Say whether a booster on rows of a shared data set has the trees of a model trained on these rows alone."""
    rows = np.arange(len(X)) if rows is None else np.sort(rows)
    alone = lgb.LGBMClassifier(random_state=1, subsample=0.8, subsample_freq=1, **QUIET).fit(X[rows], y[rows])
    settings = {"seed": 1, "bagging_fraction": 0.8, "bagging_freq": 1, "objective": "binary", "num_threads": 1}
    shared = binned(X, y)
    part = shared if len(np.unique(rows)) == len(X) else shared.subset(rows)
    return trees(alone.booster_) == trees(lgb.train({**settings, "verbose": -1}, part, 100))


def main() -> None:
    tables = {"breast cancer": load_breast_cancer(return_X_y=True)}
    tables |= {f"{n:,} x 20": make_classification(n, 20, random_state=0) for n in (5_000, 50_000)}
    for table, (X, y) in tables.items():
        binning = seconds(lambda X=X, y=y: binned(X, y))
        for model, options in MODELS.items():
            fit = seconds(lambda X=X, y=y, o=options: lgb.LGBMClassifier(random_state=0, **QUIET, **o).fit(X, y))
            print(f"{table}, {model}: binning takes {binning / fit:.0%} of a training of {1000 * fit:.0f} ms")
    X, y = tables["breast cancer"]
    resample = np.random.default_rng(0).integers(0, len(X), len(X))
    for space, rows in {"the same rows, another seed": None, "a bootstrap sample": resample}.items():
        print(f"{space}: {'the same' if same(X, y, rows) else 'other'} trees")


if __name__ == "__main__":
    with one_thread():
        main()
