"""Our method on recorded runs of the authors' implementation: same explained models, rows and base points.

The recordings are a folder of cells that ``BETARCE_REFERENCE_DIR`` names; this table is left out where there is none.
"""

import gzip
import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from betarce.arrays import AnyArray, BoolArray
from betarce.errors import BetarceWarning
from betarce.models.families import paper_model
from betarce.paper.guarantee.cells import OURS
from betarce.paper.tables.markdown import text_table
from betarce.robustify import BetaRCE

FAMILIES = {"lr": "logistic", "lgbm": "lightgbm", "nn": "network"}
DELTA, CONFIDENCE = 0.9, 0.95
N_AUDIT = {"logistic": 500, "lightgbm": 500, "network": 200}
COLUMNS = (
    "cell",
    "found: authors",
    "found: ours",
    "L1 to base: authors",
    "L1 to base: ours",
    "of which base to box",
    "of which beyond",
    "beyond / authors",
    "truly >= 0.9",
)


@dataclass(frozen=True)
class RecordedCell:
    """One recorded run of the authors' implementation."""

    folder: str

    @property
    def name(self) -> str:
        """The name of the cell's file, without its ending."""
        return f"reference-{Path(self.folder).name}"


class Recorded(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model that is known by its log-odds only; to retrain it is to train a new one of its family."""

    def __init__(self, log_odds: Callable[[AnyArray], AnyArray], family_model: Any) -> None:
        self.log_odds = log_odds
        self.family_model = family_model
        self.classes_ = np.array([0, 1])

    def fit(self, X: AnyArray, y: AnyArray) -> Any:
        """Train a new model, which takes this one's place."""
        return self.family_model.fit(X, y)

    def predict(self, X: AnyArray) -> AnyArray:
        """Give the labels."""
        return (self.log_odds(np.asarray(X)) > 0).astype(int)

    def predict_proba(self, X: AnyArray) -> AnyArray:
        """Give the probabilities."""
        p = 1 / (1 + np.exp(-self.log_odds(np.asarray(X))))
        return np.column_stack([1 - p, p])


def recorded_log_odds(folder: Path) -> Callable[[AnyArray], AnyArray]:
    """Read the explained model of a recorded cell, group "M1" of its models."""
    if (folder / "models_lr.npz").exists():
        stored = np.load(folder / "models_lr.npz")
        weights, shift = stored["M1__coef"][0], stored["M1__intercept"][0]
        return lambda X: X @ weights + shift
    if (folder / "models_nn.npz").exists():
        stored = np.load(folder / "models_nn.npz")
        layers = sorted({int(key.split("__")[1].split("_")[0]) for key in stored if key.startswith("M1__")})
        return partial(forward, layers=[[stored[f"M1__{layer}_{part}"][0] for part in "Wb"] for layer in layers])
    import lightgbm

    with gzip.open(folder / "models_lgbm_M1.json.gz", "rt") as file:
        booster = lightgbm.Booster(model_str=json.load(file)[0])
    return lambda X: np.asarray(booster.predict(X, raw_score=True, num_threads=1))


def forward(X: AnyArray, layers: list[list[AnyArray]]) -> AnyArray:
    """Evaluate a recorded network."""
    values = np.asarray(X, dtype=np.float32)
    for depth, (weights, shift) in enumerate(layers):
        values = values @ weights.T + shift
        if depth < len(layers) - 1:
            values = np.maximum(values, 0)
    return values[:, 0]


def compare(cell: RecordedCell) -> dict[str, Any]:
    """Explain the rows of one recorded cell from its base points, and measure both results."""
    folder = Path(cell.folder)
    _, short, space = folder.name.rsplit("_", 2)
    family = FAMILIES[short]
    kept = np.load(folder / "data.npz")
    X, y = kept["X_train"].astype(float), kept["y_train"].astype(int)
    originals, bases, theirs = (kept[key].astype(float) for key in ("x_orig", "base_cf", "rob_cf"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BetarceWarning)
        rce = BetaRCE(
            Recorded(recorded_log_odds(folder), paper_model(family)),
            space=space.lower(),
            delta=DELTA,
            confidence=CONFIDENCE,
            random_state=0,
            verbose=-1,
            **OURS,
        ).fit(X, y)
        result = rce.explain(originals, base_points=bases)
        audit = rce.audit(result, n_models=N_AUDIT[family])
    ours = np.array([np.full(X.shape[1], np.nan) if item.robust is None else item.robust for item in result])
    lower, upper = X.min(axis=0), X.max(axis=0)
    allowed = np.clip(bases, np.minimum(lower, originals), np.maximum(upper, originals))
    return {
        "cell": folder.name,
        "n_rows": len(bases),
        "n_theirs": int((~missing(theirs)).sum()),
        "n_ours": int(result.certified.sum()),
        **distances(bases, allowed, ours, theirs, upper - lower),
        "true": float((audit["robust"][result.certified] >= DELTA).mean()),
    }


def missing(points: AnyArray) -> BoolArray:
    """Say which rows have no point."""
    return np.asarray(np.isnan(points).any(axis=1))


def distances(bases: AnyArray, allowed: AnyArray, ours: AnyArray, theirs: AnyArray, scale: AnyArray) -> dict[str, Any]:
    """Give mean L1 distances in ranges of the features, over the rows that both found."""
    both = ~missing(ours) & ~missing(theirs)
    pairs = {"theirs": (theirs, bases), "ours": (ours, bases), "forced": (allowed, bases), "beyond": (ours, allowed)}
    units = np.where(scale > 0, scale, 1)
    return {
        f"l1_{name}": float((np.abs(a[both] - b[both]) / units).sum(axis=1).mean()) for name, (a, b) in pairs.items()
    }


def recorded_cells() -> list[RecordedCell]:
    """List the recorded runs that are on this machine; none without ``BETARCE_REFERENCE_DIR``."""
    root = os.environ.get("BETARCE_REFERENCE_DIR")
    found = sorted(Path(root).glob("*/data.npz")) if root else []
    return [RecordedCell(str(path.parent)) for path in found if list(path.parent.glob("models_*"))]


def recorded_table(comparisons: Iterable[Mapping[str, Any]]) -> str:
    """Lay out all comparisons that were made; empty without any."""
    rows = [
        [
            one["cell"],
            f"{one['n_theirs']} of {one['n_rows']}",
            f"{one['n_ours']} of {one['n_rows']}",
            *(f"{one[f'l1_{name}']:.3f}" for name in ("theirs", "ours", "forced", "beyond")),
            f"{one['l1_beyond'] / one['l1_theirs']:.2f}",
            f"{one['true']:.2f}",
        ]
        for one in comparisons
    ]
    return text_table(COLUMNS, rows) if rows else ""
