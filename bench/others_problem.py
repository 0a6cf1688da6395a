"""The common problem of bench/others.py: the data, the network, the rows, and the fresh networks that judge."""

import time
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import betarce as brce
from betarce.arrays import AnyArray, FloatArray
from betarce.models import Network

WANTED = {"diabetes": 0, "breast_cancer": 0}  # the label that becomes class 1: healthy, benign
N_ROWS, N_TUNING = 20, 20
N_AUDIT, N_PROXIES = 2000, 200
DELTA = 0.9  # a point is covered if so many of the models accept it
ENOUGH = 0.95  # a setting is robust if so many of its points are covered
SEED = 17


@dataclass(frozen=True)
class Score:
    """What one method did with the rows."""

    answered: float
    l1: float
    changed: float
    covered: float
    lowest: float


@dataclass(frozen=True, eq=False)
class Common:
    """One data set, scaled to 0..1, with its network and the rows that it rejects."""

    name: str
    X: FloatArray
    y: AnyArray
    model: Any
    rows: FloatArray
    tuning: FloatArray

    def explainer(self, draw: int = 0, **settings: Any) -> tuple[brce.BetaRCE, float]:
        """Fit ours, with members of one draw of several; also give the seconds of the processor that this took."""
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", brce.errors.BetarceWarning)
            rce = brce.BetaRCE(self.model, space=brce.Bootstrap(), random_state=draw, verbose=-1, **settings)
            rce.fit(self.X, self.y)
        return rce, time.process_time() - start

    @cached_property
    def after(self) -> brce.BetaRCE:
        """Ours with default settings, for the points of others."""
        return self.explainer()[0]

    @cached_property
    def drawer(self) -> brce.BetaRCE:
        """Draws members that nothing else has seen; another seed than that of what is measured."""
        quick = brce.BetaRCE(self.model, space=brce.Bootstrap(), n_models="few", random_state=SEED, verbose=-1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", brce.errors.BetarceWarning)
            return quick.fit(self.X, self.y)

    @cached_property
    def audit(self) -> brce.Ensemble:
        """The truth: retrained networks that no method has seen."""
        return self.drawer.fresh_members(N_AUDIT, role="audit")

    @cached_property
    def proxies(self) -> brce.Ensemble:
        """Further ones, to choose the settings of the programs of others."""
        return self.drawer.fresh_members(N_PROXIES, role="proxies")

    def answered(self, points: FloatArray) -> AnyArray:
        """Say which points are there, and are put into class 1 by the model itself."""
        there = ~np.isnan(points).any(axis=1)
        if there.any():
            there[there] = np.asarray(self.model.predict(points[there])) == 1
        return there

    def scored(self, points: FloatArray, rows: FloatArray, judges: brce.Ensemble) -> Score:
        """Measure points against the rows that they are for."""
        kept = self.answered(points)
        if not kept.any():
            return Score(0.0, np.nan, np.nan, np.nan, np.nan)
        moved = np.abs(points[kept] - rows[kept])
        rates = judges.votes(points[kept], np.ones(kept.sum(), int)) / len(judges)
        changed = (moved > 1e-6).sum(axis=1).mean()
        covered = (rates >= DELTA).mean()
        return Score(kept.mean(), moved.sum(axis=1).mean(), changed, covered, rates.min())

    def write(self, file: Path) -> None:
        """Write down what the programs of others are given."""
        inner, outer = self.model.weights_
        inner_bias, outer_bias = self.model.biases_
        layers = {"inner_weights": inner, "inner_bias": inner_bias, "outer_weights": outer, "outer_bias": outer_bias}
        np.savez(file, X=self.X, y=self.y, rows=self.rows, tuning=self.tuning, **layers)


def prepare(name: str) -> Common:
    """Load and scale a data set, train the network, and take rows that it rejects, inside the ranges of training."""
    loaded = brce.datasets.load(name, download=False)
    X, y = loaded.X.to_numpy(float), (loaded.y.to_numpy() == WANTED[name]).astype(int)
    order = np.random.default_rng(SEED).permutation(len(X))
    train, rest = order[: len(X) // 2], order[len(X) // 2 :]
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    X = (X - low) / (high - low)
    network = Network(hidden_layers=1, neurons=16, dropout=0.0, learning_rate=0.01, batch_size=32, random_state=SEED)
    model = network.fit(X[train], y[train])
    rejected = X[rest][np.asarray(model.predict(X[rest])) == 0]
    inside = rejected[((rejected >= 0) & (rejected <= 1)).all(axis=1)]
    return Common(name, X[train], y[train], model, inside[:N_ROWS], inside[N_ROWS:][:N_TUNING])
