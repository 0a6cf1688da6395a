"""How long other methods take for one counterfactual, in a batch of 100 rows.

Each function yields the records of one method; `BENCHMARKS` lists them.
"""

import time
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer

import betarce as brce
from betarce.ensemble import Ensemble
from betarce.explainers import Explainer, Problem
from timing import Record, fastest, one_thread

N_ROWS = 100
FAMILY = "lightgbm"


@cache
def table() -> tuple[str, np.ndarray, np.ndarray]:
    """Give diabetes, or breast cancer with the reason why."""
    try:
        data = brce.datasets.load("diabetes")
    except brce.errors.DataUnavailable:
        X, y = load_breast_cancer(return_X_y=True)
        return "breast cancer (for want of diabetes: set BETARCE_DATA_DIR)", X, y
    return "diabetes", data.X.to_numpy(dtype=float), data.y.to_numpy()


@cache
def problem() -> Problem:
    """Train the model that all methods explain; compiled code is compiled here."""
    _, X, y = table()
    features = brce.FeatureSpace.infer(X)
    model = brce.models.paper_model(FAMILY).fit(X, y)
    made = Problem(Ensemble([model], np.unique(y)), features, X, y)
    made.model.margins(X[:5], y[:5])
    return made


def batch(explainer: Explainer) -> Callable[[], object]:
    """Explain 100 rows, each towards the class that it is not in."""
    made = problem()
    rows = made.X_train[:N_ROWS]
    targets = made.model.labels(rows) != made.model.classes
    box, seeds = made.features.box(rows), list(range(N_ROWS))
    return lambda: explainer.explain(rows, targets, made, box, seeds)


def per_row(name: str, explainer: Explainer, goal: float) -> Record:
    """Measure a method once it has seen the problem."""
    work = batch(explainer)
    work()
    return Record(f"{name}, a row of {N_ROWS}, {table()[0]}, {FAMILY}", fastest(work)[0] / N_ROWS, most=goal)


def nice() -> Iterator[Record]:
    for reward in ("sparsity", "proximity", "plausibility"):
        yield per_row(f"NICE for {reward}", brce.explainers.Nice(reward=reward), goal=0.005)


def face() -> Iterator[Record]:
    for mode in ("knn", "epsilon"):
        explainer = brce.explainers.Face(mode=mode)
        start = time.perf_counter()
        batch(explainer)()
        built = time.perf_counter() - start
        yield per_row(f"FACE, mode {mode}", explainer, goal=0.02)
        yield Record(f"the first batch of FACE, mode {mode}, its graph included", built)


def nearest() -> Iterator[Record]:
    yield per_row("nearest unlike neighbour", brce.explainers.NearestUnlike(), goal=0.005)
    yield per_row("nearest robust neighbour and the way back", brce.explainers.RobustNearest(optimal=True), goal=0.02)


BENCHMARKS = [
    nearest,
    nice,
    face,
]


def run() -> Iterator[Record]:
    """Measure every method."""
    with one_thread():
        for benchmark in BENCHMARKS:
            yield from benchmark()


if __name__ == "__main__":
    for record in run():
        print(f"{record.ours * 1000:8.3f} ms  {record.goal:>9}  {record.name}")
