"""How fast the tree kernel is: 32 LightGBM members of 30 trees with 15 leaves, one thread.

`python bench/trees.py` also compares the engines, in nanoseconds per candidate and tree.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification

from betarce.ensemble import traversal
from betarce.ensemble.affine import Peeled
from betarce.ensemble.trees import TreeKernel, stack

N_MEMBERS = 32
EVERYONE = slice(None)


def train(X: Any, y: Any) -> list[Any]:
    """Train members on bootstrap samples, as the paper's LightGBM is set."""
    settings: dict[str, Any] = {"n_estimators": 30, "num_leaves": 15, "subsample": 0.8, "subsample_freq": 1}
    members = []
    for i in range(N_MEMBERS):
        rows = np.random.default_rng(i).integers(0, len(X), len(X))
        model = lgb.LGBMClassifier(**settings, random_state=i, n_jobs=1, verbose=-1)
        members.append(model.fit(X[rows], y[rows]))
    return members


def candidates(X: Any, n: int) -> Any:
    """Draw points between rows of the data, where a search looks."""
    rng = np.random.default_rng(n)
    a, b = X[rng.integers(0, len(X), (2, n))]
    return a + rng.random((n, 1)) * (b - a) + 0.05 * X.std(axis=0) * rng.normal(size=a.shape)


def fastest(run: Callable[[], object], times: int = 5) -> float:
    """Give the shortest of several runs, in seconds."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def built(members: list[Any]) -> TreeKernel:
    """Stack the members, and have all code compiled."""
    kernel = stack([Peeled(member) for member in members])
    assert kernel is not None
    kernel.scores(np.zeros((1, kernel.n_features)), EVERYONE)
    return kernel


def run() -> list[dict[str, Any]]:
    """Measure the kernel against the members' own `predict`."""
    X, y = load_breast_cancer(return_X_y=True)
    members = train(X, y)
    kernel = built(members)
    few, many = candidates(X, 100), candidates(X, 1000)

    def one_by_one() -> None:
        for member in members:
            for i in range(len(few)):
                member.predict(few[i : i + 1])

    def record(name: str, baseline_s: float, points: Any, goal: float) -> dict[str, Any]:
        ours_s = fastest(lambda: kernel.scores(points, EVERYONE), 20)
        return {"name": name, "baseline_s": baseline_s, "ours_s": ours_s, "ratio": baseline_s / ours_s, "goal": goal}

    return [
        record("trees: 32 members x 100 candidates, against 3,200 predictions", fastest(one_by_one, 1), few, 30),
        record(
            "trees: 32 members x 100 candidates, against 32 batched predictions",
            fastest(lambda: [member.predict(few) for member in members]),
            few,
            30,
        ),
        record(
            "trees: 32 members x 1,000 candidates, against 32 batched predictions",
            fastest(lambda: [member.predict(many) for member in members]),
            many,
            10,
        ),
    ]


def engines(X: Any, y: Any, sizes: tuple[int, ...] = (100, 1_000, 10_000)) -> dict[str, list[float]]:
    """Measure every way to evaluate the same members, in nanoseconds per candidate and tree."""
    members = train(X, y)
    kernel = built(members)
    walked, functions = traversal.walked_form(kernel.forest), traversal.compiled()
    assert functions is not None
    walk, n_trees = functions[2], len(kernel.forest.root)
    ways: dict[str, Callable[[Any], object]] = {
        "members' own predict": lambda points: [member.predict(points) for member in members],
        "numpy walk": lambda points: traversal.plain_sums(points, kernel.forest, 0, N_MEMBERS),
        "compiled walk": lambda points: walk(points, walked, 0, N_MEMBERS, np.empty((len(points), N_MEMBERS, 1))),
        "compiled masks": lambda points: kernel.scores(points, EVERYONE),
    }
    table: dict[str, list[float]] = {name: [] for name in ways}
    for points in (candidates(X, n) for n in sizes):
        for name, way in ways.items():
            way(points)
            seconds = fastest(partial(way, points))
            table[name].append(seconds / len(points) / n_trees * 1e9)
    return table


def main() -> None:
    """Print the ratios and the engines."""
    for row in run():
        print("{name}: {baseline_s:.4f} s / {ours_s:.6f} s = {ratio:.0f} (goal {goal})".format(**row))
    data = {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "500 x 8": make_classification(500, 8, n_informative=5, flip_y=0.15, random_state=0),
    }
    for name, (X, y) in data.items():
        print(f"\n{name}, ns per candidate and tree at 100, 1,000 and 10,000 candidates")
        for engine, figures in engines(X, y).items():
            print(f"  {engine:<22}" + "".join(f"{figure:9.1f}" for figure in figures))


if __name__ == "__main__":
    main()
