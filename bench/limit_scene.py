"""What ours and the oracle share: the data, the model, the rows with their bases, and members of the space."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import betarce as brce
import limit_trees
from betarce.arrays import AnyArray, FloatArray, IntArray

N_ROWS = 20
N_MEMBERS = 300  # that the oracle asks
N_AUDIT = 1000  # that measure the validity of what is found
SEED = 7_000  # of the split, the model, the bases, and the members that the oracle and the audit ask


@dataclass(frozen=True, eq=False)
class Scene:
    """One data set and one model, with the base counterfactuals of some rows."""

    X: FloatArray
    y: AnyArray
    model: Any
    originals: FloatArray
    bases: FloatArray
    targets: AnyArray
    n_base_missing: int
    drawer: brce.BetaRCE
    n_jobs: int | None = None
    n_members: int = N_MEMBERS
    n_audit: int = N_AUDIT

    @property
    def lower(self) -> FloatArray:
        """Where the points of each row may lie at the least: a row outside the training range may stay there."""
        return np.minimum(self.X.min(axis=0), self.originals)

    @property
    def upper(self) -> FloatArray:
        """Where they may lie at the most."""
        return np.maximum(self.X.max(axis=0), self.originals)

    def explainer(self, random_state: int, **settings: Any) -> brce.BetaRCE:
        """Fit an explainer of this model: another random state draws other members."""
        return fitted(self.model, self.X, self.y, random_state=random_state, n_jobs=self.n_jobs, **settings)

    @cached_property
    def members(self) -> brce.Ensemble:
        """The members that the oracle asks; neither the search nor the certificate has seen them."""
        return self.drawer.fresh_members(self.n_members, role="oracle")

    @cached_property
    def thresholds(self) -> list[FloatArray]:
        """Where the model or one of the oracle's members splits, by feature; for LightGBM alone."""
        return limit_trees.thresholds([self.model, *self.members.models], self.X.shape[1])

    @cached_property
    def audit(self) -> brce.Ensemble:
        """Further members, which not even the oracle has seen."""
        return self.drawer.fresh_members(self.n_audit, role="audit")


def prepare(data: str, family: str, n_jobs: int | None = None) -> Scene:
    """Load and scale a data set as the paper does, train the model, and find the bases with Growing Spheres."""
    loaded = brce.datasets.load(data, download=False)
    X, y = loaded.X.to_numpy(float), loaded.y.to_numpy()
    order = np.random.default_rng(SEED).permutation(len(X))
    train, rows = order[: 2 * len(X) // 3], order[2 * len(X) // 3 :][:N_ROWS]
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    X = (X - low) / np.where(high > low, high - low, 1)
    model = brce.models.paper_model(family).set_params(random_state=SEED).fit(X[train], y[train])
    return with_bases(model, X[train], y[train], X[rows], n_jobs)


def with_bases(model: Any, X: FloatArray, y: AnyArray, rows: FloatArray, n_jobs: int | None, **sizes: int) -> Scene:
    """Ask Growing Spheres for the base of every row; rows without one are counted and left out."""
    # An easy guarantee: all that is wanted of this explainer are bases, and members that it can draw.
    easy = {"delta": 0.5, "confidence": 0.5, "n_models": (8, 8), "prior": "exact"}
    drawer = fitted(model, X, y, random_state=SEED, n_jobs=n_jobs, base=brce.explainers.GrowingSpheres(), **easy)
    result = drawer.explain(rows)
    found = np.array([item.status != "base-not-found" for item in result])
    bases = result.points("base").to_numpy(float)[found]
    targets = np.asarray(model.predict(bases))
    return Scene(X, y, model, rows[found], bases, targets, int((~found).sum()), drawer, n_jobs, **sizes)


def fitted(model: Any, X: FloatArray, y: AnyArray, **settings: Any) -> brce.BetaRCE:
    """Fit an explainer without a word on odd members: a benchmark counts what comes of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", brce.errors.BetarceWarning)
        return brce.BetaRCE(model, space=brce.Bootstrap(), verbose=-1, **settings).fit(X, y)


def own_votes(models: list[Any], points: FloatArray, targets: AnyArray) -> IntArray:
    """Count the models whose own `predict` gives each point its target: no kernel of ours is asked."""
    return np.asarray(sum((np.asarray(model.predict(points)) == targets).astype(int) for model in models))
