"""How long `explain` takes for models made of others and for categories that trees know, against the generic path.

Twelve numbers and eight categories, 1,000 training rows, 38 members that search and 38 that certify. For the ratio a
few of them answer twice for the same row: through their kernels, and one by one, which with all of them takes half a
minute for a single row. `python bench/slow_path.py` prints the table; names of models as arguments pick some of them.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import betarce as brce
import tables
from betarce.ensemble import families
from betarce.ensemble.unreadable import Unreadable
from timing import Record, one_thread

N_MEMBERS, N_ROWS = 38, 10
N_FEW = 8  # members of each role that are asked one by one, about one row
GOAL = 0.05


def logistic(_: int) -> Any:
    return LogisticRegression(max_iter=200)


def forest(seed: int) -> Any:
    return RandomForestClassifier(30, max_depth=5, random_state=seed)


def parts(seed: int) -> list[tuple[str, Any]]:
    """Give a linear model, a forest and boosted trees, each behind its own preprocessing."""
    makes = {"logistic": logistic, "forest": forest, "lightgbm": tables.lightgbm}
    return [(name, tables.with_preprocessing(make, seed)) for name, make in makes.items()]


def xgboost(seed: int) -> Any:
    import xgboost

    return xgboost.XGBClassifier(n_estimators=30, max_depth=4, enable_categorical=True, n_jobs=1, random_state=seed)


def catboost(seed: int) -> Any:
    import catboost

    return catboost.CatBoostClassifier(
        iterations=100,
        cat_features=list(tables.LEVELS),
        one_hot_max_size=10,
        thread_count=1,
        random_seed=seed,
        verbose=0,
        allow_writing_files=False,
    )


MODELS: dict[str, Callable[[int], Any]] = {
    "GridSearchCV": lambda i: GridSearchCV(
        tables.with_preprocessing(tables.lightgbm, i), {"lgbmclassifier__num_leaves": [7, 15]}, cv=2
    ),
    "CalibratedClassifierCV, sigmoid, logistic": lambda i: CalibratedClassifierCV(
        tables.with_preprocessing(logistic, i), cv=3
    ),
    "CalibratedClassifierCV, isotonic, forest": lambda i: CalibratedClassifierCV(
        tables.with_preprocessing(forest, i), method="isotonic", cv=3
    ),
    "VotingClassifier, soft": lambda i: VotingClassifier(parts(i), voting="soft"),
    "VotingClassifier, hard": lambda i: VotingClassifier(parts(i)),
    "StackingClassifier": lambda i: StackingClassifier(parts(i), cv=2),
    "XGBoost with categories": xgboost,
    "CatBoost with categories": catboost,
}


@contextmanager
def one_by_one() -> Iterator[None]:
    """Let no kernel speak for any member."""

    def refuse(_: object) -> Any:
        raise Unreadable("a benchmark of the generic path")

    own, families.kernel_of = families.kernel_of, refuse  # type: ignore[assignment]
    try:
        yield
    finally:
        families.kernel_of = own


def train(make: Callable[[int], Any], table: Any, labels: np.ndarray) -> list[Any]:
    """Train the model and its members on bootstrap samples, on all cores."""

    def fit(i: int) -> Any:
        rows = np.random.default_rng(i).integers(0, len(labels), len(labels)) if i else np.arange(len(labels))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make(i).fit(table.iloc[rows], labels[rows])

    return list(Parallel(n_jobs=-1)(delayed(fit)(i) for i in range(1 + 2 * N_MEMBERS)))


def fitted(models: list[Any], table: Any, labels: np.ndarray, n: int, **options: Any) -> brce.BetaRCE:
    """Give an explainer whose members, n for each role, are trained already."""
    space = brce.Given(models[1 : 1 + 2 * n])
    rce = brce.BetaRCE(models[0], space=space, n_models=(n, n), random_state=0, verbose=-1, **options)
    return rce.fit(table, labels)


def seconds_per_row(rce: brce.BetaRCE, rows: Any, rounds: int) -> tuple[float, list[str]]:
    """Explain rows; give the seconds for each, the best of some rounds, and what became of each."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        result = rce.explain(rows)
        seconds.append(time.perf_counter() - start)
    return min(seconds) / len(rows), [item.status for item in result]


def run(names: list[str] | None = None) -> Iterator[Record]:
    """Measure each model both ways, and hold the answers against each other."""
    space = tables.Mixed()
    points = space.draw(tables.N_ROWS + N_ROWS, seed=1)
    y = tables.labels(points)
    # CatBoost refuses missing categories.
    points[:, 12:] = np.nan_to_num(points[:, 12:])
    frame = space.decode(points)
    table, rows, labels = frame[: tables.N_ROWS], frame[tables.N_ROWS :], y[: tables.N_ROWS]
    for name in names or MODELS:
        try:
            models = train(MODELS[name], table, labels)
        except ImportError as missing:
            print(f"{name}: left out, {missing.name} is not installed", file=sys.stderr)
            continue
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rce = fitted(models, table, labels, N_MEMBERS)
            rce.explain(rows[:1])  # compiled code is compiled here
            ours, _ = seconds_per_row(rce, rows, rounds=3)
            loose = {"delta": 0.7, "confidence": 0.8}
            few, answers = seconds_per_row(fitted(models, table, labels, N_FEW, **loose), rows[:1], rounds=3)
            with one_by_one():
                baseline, same = seconds_per_row(fitted(models, table, labels, N_FEW, **loose), rows[:1], rounds=1)
        assert answers == same, "kernels and members must agree"
        yield Record(f"explain a row of {N_ROWS}, {name}, {N_MEMBERS} + {N_MEMBERS} members", ours, most=GOAL)
        yield Record(f"a row alone, {name}, {N_FEW} + {N_FEW} members, vs member by member", few, baseline)


if __name__ == "__main__":
    print("ms per row of `explain`")
    for record in run(sys.argv[1:] or None):
        more = f", generic {record.baseline * 1000:.0f} ms, {record.ratio:.0f}x" if record.baseline else ""
        print(f"{record.ours * 1000:9.1f} ms  {record.name}{more}", flush=True)
