"""How fast the tree kernel is: 32 LightGBM members of 30 trees with 15 leaves, one thread.

`python bench/trees.py` compares the engines, in nanoseconds per candidate and tree.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification

import betarce as brce
from betarce.ensemble.preprocessing.unwrap import UnwrappedModel
from betarce.ensemble.trees import traversal
from betarce.ensemble.trees.kernel import TreeKernel, stack
from betarce.ensemble.trees.walk import packed_form, walk_places
from timing import N_CANDIDATES, N_MEMBERS, Record, answering, candidates, fastest, one_thread

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


def built(members: list[Any]) -> TreeKernel:
    """Stack the members, and have all code compiled."""
    kernel = stack([UnwrappedModel(member) for member in members])
    assert kernel is not None
    kernel.scores(np.zeros((1, members[0].n_features_in_)), EVERYONE)
    return kernel


def run() -> Iterator[Record]:
    """Measure the ensemble against the members' own `predict`, point by point and in batches."""
    X, y = load_breast_cancer(return_X_y=True)
    with one_thread():
        members = train(X, y)
        yield answering("LightGBM", members, candidates(X, N_CANDIDATES), least=30)
        ensemble = brce.Ensemble(members, [0, 1])
        for n, least in ((100, 30), (1_000, 10)):
            points = candidates(X, n)
            baseline, ours = fastest(
                partial(lambda points: [member.predict(points) for member in members], points),
                partial(ensemble.votes, points, 1),
            )
            yield Record(f"{N_MEMBERS} LightGBM x {n:,} points, vs member by member", ours, baseline, least=least)


def engines(X: Any, y: Any, sizes: tuple[int, ...] = (100, 1_000, 10_000)) -> dict[str, list[float]]:
    """Measure every way to evaluate the same members, in nanoseconds per candidate and tree."""
    members = train(X, y)
    kernel = built(members)
    (forest, columns), functions = kernel._whole, traversal.compiled()
    packed = packed_form(forest, columns)
    assert functions is not None
    assert packed is not None
    n_trees = len(forest.root)
    ways: dict[str, Callable[[Any], object]] = {
        "members' own predict": lambda points: [member.predict(points) for member in members],
        "numpy walk": lambda points: traversal.plain_sums(columns.values(points), forest, 0, N_MEMBERS),
        "compiled walk": lambda points: functions.walked_sums(
            functions.places(points, columns, packed[0], walk_places(len(points), columns.width)),
            packed[1],
            0,
            N_MEMBERS,
            np.empty((len(points), N_MEMBERS, 1)),
        ),
        "compiled masks": lambda points: kernel.scores(points, EVERYONE),
    }
    table: dict[str, list[float]] = {name: [] for name in ways}
    for points in (candidates(X, n) for n in sizes):
        for name, way in ways.items():
            way(points)
            (seconds,) = fastest(partial(way, points))
            table[name].append(seconds / len(points) / n_trees * 1e9)
    return table


def main() -> None:
    """Print the engines."""
    data = {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "500 x 8": make_classification(500, 8, n_informative=5, flip_y=0.15, random_state=0),
    }
    for name, (X, y) in data.items():
        print(f"\n{name}, ns per candidate and tree at 100, 1,000 and 10,000 candidates")
        with one_thread():
            found = engines(X, y)
        for engine, figures in found.items():
            print(f"  {engine:<22}" + "".join(f"{figure:9.1f}" for figure in figures))


if __name__ == "__main__":
    main()
