"""How fast pipelines over a mixed table answer together, against one `predict` a member on the whole batch."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import betarce as brce
from betarce.ensemble.stacked import StackedGroup
from betarce.features.readings import Reading
from timing import Record, fastest, one_thread

N_MEMBERS, N_CANDIDATES, N_ROWS = 38, 5_000, 1_000
LEVELS = {f"c{j}": tuple(f"level {i}" for i in range(2 + j)) for j in range(8)}
NUMBERS = [f"n{j}" for j in range(12)]


class Mixed:
    """Twelve numbers and eight categories of 2 to 9 levels."""

    readings = (
        *(Reading(name, j) for j, name in enumerate(NUMBERS)),
        *(Reading(name, 12 + j, levels) for j, (name, levels) in enumerate(LEVELS.items())),
    )

    def decode(self, points: np.ndarray) -> pd.DataFrame:
        """Write points as the table."""
        table: dict[str, Any] = {name: points[:, j] for j, name in enumerate(NUMBERS)}
        for j, (name, levels) in enumerate(LEVELS.items(), start=len(NUMBERS)):
            codes = np.where(np.isnan(points[:, j]), -1, points[:, j]).astype(int)
            table[name] = pd.Categorical.from_codes(codes, categories=list(levels))
        return pd.DataFrame(table)

    def draw(self, n: int, seed: int) -> np.ndarray:
        """Draw points, a twentieth of their values missing."""
        rng = np.random.default_rng(seed)
        codes = [rng.integers(0, len(levels), n) for levels in LEVELS.values()]
        points = np.column_stack([rng.normal(size=(n, len(NUMBERS))), *codes])
        return np.where(rng.random(points.shape) < 0.05, np.nan, points)


def labels(points: np.ndarray) -> np.ndarray:
    """Let numbers and levels decide, with noise."""
    filled = np.nan_to_num(points, nan=0.5)
    score = filled[:, :12] @ np.cos(np.arange(12)) + np.sin(filled[:, 12:]).sum(axis=1)
    return (score + np.random.default_rng(0).normal(size=len(points)) > np.median(score)).astype(int)


def lightgbm(seed: int) -> Any:
    return lgb.LGBMClassifier(n_estimators=30, num_leaves=15, random_state=seed, n_jobs=1, verbose=-1)


def with_preprocessing(make: Callable[[int], Any], seed: int) -> Any:
    """Put an imputer, a scaler and an encoder before a model."""
    preprocessing = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        (OneHotEncoder(handle_unknown="ignore"), list(LEVELS)),
    )
    return make_pipeline(preprocessing, make(seed))


def train(make: Callable[[int], Any], space: Mixed) -> list[Any]:
    points = space.draw(N_ROWS, seed=0)
    table, y = space.decode(points), labels(points)
    samples = (np.random.default_rng(i).integers(0, N_ROWS, N_ROWS) for i in range(N_MEMBERS))
    return [make(i).fit(table.iloc[rows], y[rows]) for i, rows in enumerate(samples)]


def run() -> Iterator[Record]:
    """Measure pipelines of LightGBM and of logistic regression, and LightGBM with categories of its own."""
    space = Mixed()
    makes: dict[str, tuple[Callable[[int], Any], float]] = {
        "preprocessing + LightGBM": (partial(with_preprocessing, lightgbm), 10),
        "LightGBM with categories": (lightgbm, 5),
        "preprocessing + logistic": (partial(with_preprocessing, lambda _: LogisticRegression()), 10),
    }
    candidates = space.draw(N_CANDIDATES, seed=1)
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (make, least) in makes.items():
            members = train(make, space)
            (building,) = fastest(partial(brce.Ensemble, members, [0, 1], features=space))
            ensemble = brce.Ensemble(members, [0, 1], features=space)
            assert all(type(group) is StackedGroup for _, group in ensemble.groups)
            ensemble.votes(candidates, 1)  # compiled code is compiled here
            baseline, ours = fastest(
                partial(_one_by_one, members, space, candidates), partial(ensemble.votes, candidates, 1)
            )
            size = f"{N_MEMBERS} {name} x {N_CANDIDATES:,} points of a mixed table"
            yield Record(f"{size}, vs member by member", ours, baseline, least=least)
            yield Record(f"reading {N_MEMBERS} {name}", building)


def _one_by_one(members: list[Any], space: Mixed, points: np.ndarray) -> list[Any]:
    table = space.decode(points)
    return [member.predict(table) for member in members]


if __name__ == "__main__":
    for record in run():
        print(f"{record.name}: {record.ours * 1000:.1f} ms" + (f", {record.ratio:.1f}x" if record.ratio else ""))
