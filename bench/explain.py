"""How long one certified counterfactual takes in a batch of 100 rows; run alone, this shows where the time goes."""

import cProfile
import pstats
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

import betarce as brce
import tables
from timing import Record, one_thread

N_ROWS = 100
GOALS = {"logistic": 0.005, "lightgbm": 0.02, "network": 0.04}
PARTS = ("margins", "is_target", "project", "add", "distance", "walk_ladders", "votes", "slopes", "_base")


def prepared(family: str, **options: Any) -> tuple[brce.BetaRCE, np.ndarray]:
    """Fit on breast cancer with bootstrapped members, as many as by default; give it and 100 rows to explain."""
    X, y = load_breast_cancer(return_X_y=True)
    X = minmax_scale(X)
    order = np.random.default_rng(0).permutation(len(X))
    train = order[:380]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", brce.errors.BetarceWarning)
        rce = brce.BetaRCE(brce.models.paper_model(family), random_state=0, verbose=-1, **options).fit(
            X[train], y[train]
        )
    rows = X[order[380 : 380 + N_ROWS]]
    rce.explain(rows[:5])  # compiled code is compiled here
    return rce, rows


def seconds_per_row(rce: brce.BetaRCE, rows: np.ndarray) -> float:
    """Give the best of three runs."""
    return min(rce.explain(rows)[0].runtime_s for _ in range(3))


def run() -> Iterator[Record]:
    """Measure the frontier with hold-out certificates, and the paper's search, for each family."""
    with one_thread():
        for family, goal in GOALS.items():
            rce, rows = prepared(family)
            yield Record(
                f"explain a row of 100, {family}, base and certificate included", seconds_per_row(rce, rows), most=goal
            )
            paper, rows = prepared(family, search="growing-spheres", certify_on="search")
            yield Record(f"the same by the paper's search, {family}", seconds_per_row(paper, rows))
    yield Record("explain 100 rows of 20 mixed columns, pipeline and LightGBM, default members", mixed(), most=60.0)


def mixed() -> float:
    """Explain rows of twelve numbers and eight categories with missing values; give the seconds for all of them."""
    table = tables.Mixed()
    points = table.draw(tables.N_ROWS + N_ROWS, seed=1)
    frame, labels = table.decode(points), tables.labels(points)
    model = tables.with_preprocessing(tables.lightgbm, 0)
    rce = brce.BetaRCE(model, random_state=0, n_jobs=-1, verbose=-1).fit(
        frame[: tables.N_ROWS], labels[: tables.N_ROWS]
    )
    rce.explain(frame[tables.N_ROWS :][:5])
    return float(rce.explain(frame[tables.N_ROWS :])[0].runtime_s) * N_ROWS


def profile(family: str) -> None:
    """Print where the time of one batch goes, in milliseconds a row."""
    rce, rows = prepared(family)
    watch = cProfile.Profile()
    watch.runcall(rce.explain, rows)
    stats = pstats.Stats(watch)
    print(f"{family}: {stats.total_tt * 1000 / N_ROWS:.2f} ms per row (with the profiler's own cost)")  # type: ignore[attr-defined]
    for (file, _, name), (_, calls, _, cumulative, _) in sorted(stats.stats.items(), key=lambda item: -item[1][3]):  # type: ignore[attr-defined]
        if "betarce" in file and name in PARTS:
            print(f"  {cumulative * 1000 / N_ROWS:6.2f} ms  {calls:6d} calls  {name}")


if __name__ == "__main__":
    with one_thread():
        for each in GOALS:
            profile(each)
