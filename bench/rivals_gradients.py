"""How long a counterfactual by Wachter, ROAR or RBR takes, a row of 100; run alone, it shows what they find."""

import os
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

import betarce as brce
from betarce.explainers import Explainer, Problem
from timing import Record, fastest, one_thread

N_ROWS = 100
GOALS = {"wachter": None, "roar": 0.1, "rbr": 0.2}
METHODS: dict[str, Explainer] = {
    "wachter": brce.explainers.Wachter(),
    "roar": brce.explainers.Roar(),
    "rbr": brce.explainers.Rbr(),
    "rbr, epsilons 0.5": brce.explainers.Rbr(epsilon_op=0.5, epsilon_pe=0.5),
}


def prepared(family: str = "network") -> tuple[str, Problem, np.ndarray, np.ndarray]:
    """Train the paper's model on diabetes, or on breast cancer without the data; give 100 rows and their targets."""
    if "BETARCE_DATA_DIR" in os.environ:
        name, data = "diabetes", brce.datasets.load("diabetes")
        X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    else:
        name, (X, y) = "breast cancer", load_breast_cancer(return_X_y=True)
    X = minmax_scale(X)
    order = np.random.default_rng(0).permutation(len(X))
    train, rows = order[: len(X) // 2], order[len(X) // 2 :][:N_ROWS]
    model = brce.models.paper_model(family).fit(X[train], y[train])
    classes = np.unique(y)
    problem = Problem(brce.Ensemble([model], classes), brce.FeatureSpace.infer(X[train]), X[train], y[train])
    return name, problem, X[rows], model.predict(X[rows])[:, None] != classes


def run() -> Iterator[Record]:
    """Measure each method on the paper's network."""
    with one_thread():
        name, problem, rows, targets = prepared()
        box, seeds = problem.features.box(rows), list(range(len(rows)))
        for method, goal in GOALS.items():
            (seconds,) = fastest(lambda method=method: METHODS[method].explain(rows, targets, problem, box, seeds))
            yield Record(f"{method}, a row of 100, {name}, network", seconds / len(rows), most=goal)


def show(family: str) -> None:
    """Print validity, distance and evaluations of each method."""
    name, problem, rows, targets = prepared(family)
    box, seeds = problem.features.box(rows), list(range(len(rows)))
    print(f"{name}, {family}:")
    for method, explainer in {"growing-spheres": brce.explainers.GrowingSpheres(), **METHODS}.items():
        result = explainer.explain(rows, targets, problem, box, seeds)
        distance = problem.features.distance(result.points, rows)[result.found].mean()
        asked = result.n_evaluations.mean()
        print(f"  {method:18s} found {result.found.mean():5.0%}  L1 {distance:5.2f}  {asked:6.0f} evaluations per row")


if __name__ == "__main__":
    with one_thread():
        for each in ("network", "lightgbm", "logistic"):
            show(each)
        for record in run():
            print(f"{record.name}: {record.ours * 1000:.1f} ms")
