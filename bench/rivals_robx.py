"""How long RobX and T-Rex take for one row in a batch of 100; run alone, this also shows what they buy."""

import time
from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

import betarce as brce
from betarce.explainers import Explained, Explainer, Problem
from betarce.features import FeatureSpace
from timing import Record, one_thread

N_ROWS, N_TRAIN = 100, 0.7
GOAL = 0.010


def table() -> tuple[str, pd.DataFrame, np.ndarray]:
    """Give diabetes if it is at hand, else breast cancer."""
    try:
        data = brce.datasets.load("diabetes")
        return "diabetes", data.X, np.asarray(data.y)
    except brce.errors.DataUnavailable:
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        return "breast cancer", X, np.asarray(y)


def prepared() -> tuple[str, Problem, np.ndarray, np.ndarray]:
    """Train the paper's LightGBM; give the problem, 100 rows and the classes they want."""
    name, X, y = table()
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X.iloc[order], y[order]
    n = int(N_TRAIN * len(X))
    model = brce.models.paper_model("lightgbm").set_params(random_state=0).fit(X[:n], y[:n])
    features = FeatureSpace.infer(X[:n])
    points = features.encode(X[:n])
    ensemble = brce.Ensemble([model], np.unique(y), features=features, probe=points[:64])
    originals = features.encode(X[n : n + N_ROWS])
    return name, Problem(ensemble, features, points, y[:n]), originals, ensemble.labels(originals) != ensemble.classes


def timed(
    explainer: Explainer, problem: Problem, originals: np.ndarray, targets: np.ndarray
) -> tuple[float, float, Explained]:
    """Give the seconds per row of the first run, which learns which training rows are stable, and of the best later."""
    box, seeds = problem.features.box(originals), list(range(len(originals)))
    seconds = []
    for _ in range(4):
        start = time.process_time()  # one thread: other work on the machine does not count
        result = explainer.explain(originals, targets, problem, box, seeds)
        seconds.append((time.process_time() - start) / len(originals))
    return seconds[0], min(seconds[1:]), result


def run() -> Iterator[Record]:
    """Measure RobX with the paper's settings, and T-Rex."""
    with one_thread():
        name, problem, originals, targets = prepared()
        brce.explainers.GrowingSpheres().explain(
            originals, targets, problem, problem.features.box(originals), range(N_ROWS)
        )
        for explainer in (brce.explainers.RobX(), brce.explainers.RobX(variance=0.1), brce.explainers.TRex()):
            _, seconds, _ = timed(explainer, problem, originals, targets)
            what = f"{type(explainer).__name__}({explainer.tau:g}, {explainer.variance:g})"
            yield Record(f"a row of 100 by {what}, lightgbm on {name}, base included", seconds, most=GOAL)


def main() -> None:
    """Print times, distances and evaluations for several settings."""
    name, problem, originals, targets = prepared()
    with one_thread():
        explainers = [brce.explainers.GrowingSpheres()]
        for options in ({}, {"tau": 0.7}, {"variance": 0.1}, {"line_search": "walk"}):
            explainers += [brce.explainers.RobX(**options)]
        for explainer in [*explainers, brce.explainers.TRex()]:
            first, later, result = timed(explainer, problem, originals, targets)
            distance = problem.features.distance(result.points, originals)[result.found].mean()
            print(
                f"{name}: {first * 1000:6.2f} ms first, {later * 1000:6.2f} ms later, "
                f"found {result.found.mean():4.0%}, L1 to original {distance:.2f}, "
                f"{result.n_evaluations.mean():6.0f} evaluations: {explainer}"
            )


if __name__ == "__main__":
    main()
