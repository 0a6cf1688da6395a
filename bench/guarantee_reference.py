"""The frontier on recorded runs of the authors' implementation: same base points, same search members.

The recordings are a folder of cells beside the repository (``../shared/reference``, or ``BETARCE_REFERENCE_DIR``); this
table is left out where there is none.
"""

import gzip
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, FloatArray
from betarce.drawing import draw_members
from betarce.ensemble import Ensemble
from betarce.errors import BetarceWarning
from betarce.explainers import Problem
from betarce.features import FeatureSpace
from betarce.models.families import paper_model
from betarce.models.recipe import Recipe, Table
from betarce.posterior import Guarantee
from betarce.robustify.certify import walk_ladders
from betarce.robustify.steer import Steering, Task
from betarce.search import FrontierSearch
from betarce.spaces import check_space

ROOT = Path(__file__).parents[1]
FOLDER = Path(os.environ.get("BETARCE_REFERENCE_DIR", ROOT.parent / "shared" / "reference"))
FAMILIES = {"lr": "logistic", "lgbm": "lightgbm", "nn": "network"}
GUARANTEE = Guarantee(0.9, 0.95)
N_AUDIT = {"logistic": 500, "lightgbm": 500, "network": 200}


class Recorded:
    """A model that is known by its log-odds only."""

    classes_ = np.array([0, 1])

    def __init__(self, log_odds: Any) -> None:
        self.log_odds = log_odds

    def predict(self, X: AnyArray) -> AnyArray:
        """Give the labels."""
        return (self.log_odds(X) > 0).astype(int)

    def predict_proba(self, X: AnyArray) -> AnyArray:
        """Give the probabilities."""
        p = 1 / (1 + np.exp(-self.log_odds(X)))
        return np.column_stack([1 - p, p])


def recorded_models(folder: Path, group: str) -> list[Recorded]:
    """Read one group of recorded models: "M1" the explained one, "E" those that the search saw."""
    if (folder / "models_lr.npz").exists():
        stored = np.load(folder / "models_lr.npz")
        pairs = zip(stored[f"{group}__coef"], stored[f"{group}__intercept"], strict=True)
        return [Recorded(lambda X, w=w, c=c: X @ w + c) for w, c in pairs]
    if (folder / "models_nn.npz").exists():
        stored = np.load(folder / "models_nn.npz")
        layers = sorted({int(key.split("__")[1].split("_")[0]) for key in stored if key.startswith(f"{group}__")})
        weights = [[stored[f"{group}__{layer}_{part}"] for layer in layers] for part in "Wb"]
        n = len(weights[0][0])
        return [
            Recorded(lambda X, i=i: forward(X, [w[i] for w in weights[0]], [b[i] for b in weights[1]]))
            for i in range(n)
        ]
    import lightgbm

    with gzip.open(folder / f"models_lgbm_{group}.json.gz", "rt") as file:
        boosters = [lightgbm.Booster(model_str=text) for text in json.load(file)]
    return [Recorded(lambda X, b=b: b.predict(X, raw_score=True, num_threads=1)) for b in boosters]


def forward(X: AnyArray, weights: list[AnyArray], biases: list[AnyArray]) -> AnyArray:
    """Evaluate a recorded network."""
    values = np.asarray(X, dtype=np.float32)
    for depth, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        values = values @ weight.T + bias
        if depth < len(weights) - 1:
            values = np.maximum(values, 0)
    return values[:, 0]


def compare(folder: Path, n_jobs: int) -> list[Any]:
    """Run the frontier on one recorded cell and give a row of the table."""
    _, family, space = folder.name.rsplit("_", 2)
    kept = np.load(folder / "data.npz")
    X, y = kept["X_train"].astype(float), kept["y_train"].astype(int)
    originals, bases, theirs = (kept[key].astype(float) for key in ("x_orig", "base_cf", "rob_cf"))
    features = FeatureSpace.infer(X)
    problem = Problem(Ensemble(recorded_models(folder, "M1"), [0, 1]), features, X, y)
    steering = Ensemble(recorded_models(folder, "E"), [0, 1])
    n = GUARANTEE.min_models(allowed_dissent=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BetarceWarning)
        draws = draw_members(
            check_space(space.lower()),
            Recipe(paper_model(FAMILIES[family])),
            Table(X, y),
            {"certify": n, "audit": N_AUDIT[FAMILIES[family]]},
            seed=0,
            n_jobs=n_jobs,
            verbose=-1,
        )
    deciding, audit = (Ensemble(draws[role].models, [0, 1]) for role in ("certify", "audit"))
    targets = problem.model.labels(bases) == problem.model.classes
    task = Task(bases, targets, features.box(originals), list(range(len(bases))))
    ladders = Steering(FrontierSearch(), problem, steering, len(steering)).ladders(task)
    walks = walk_ladders(ladders, targets, deciding, GUARANTEE)
    return row_of(folder.name, features, bases, theirs, targets, ladders, walks, audit, task)


def row_of(
    name: str,
    features: FeatureSpace,
    bases: FloatArray,
    theirs: FloatArray,
    targets: AnyArray,
    ladders: Any,
    walks: Any,
    audit: Ensemble,
    task: Task,
) -> list[Any]:
    """Measure ours against theirs; means over what each found, and over the rows that both found."""
    ours = np.full(bases.shape, np.nan)
    for i, walk in enumerate(walks):
        if walk.passed:
            ours[i] = ladders.points[i, ladders.exists[i]][walk.passed - 1]
    found, found_theirs = (~np.isnan(points).any(axis=1) for points in (ours, theirs))
    both = found & found_theirs
    true = audit.votes(ours[found], targets[found]) / len(audit)
    outside = ((ours < task.box.lower) | (ours > task.box.upper)).any(axis=1).sum()
    allowed = features.project(bases, task.box)
    l1_theirs, l1, forced, beyond = (
        features.distance(a[both], b[both]).mean()
        for a, b in ((theirs, bases), (ours, bases), (allowed, bases), (ours, allowed))
    )
    return [
        name,
        f"{found_theirs.sum()} of {len(bases)}",
        f"{found.sum()} of {len(bases)}",
        f"{l1_theirs:.3f}",
        f"{l1:.3f}",
        f"{forced:.3f}",
        f"{beyond:.3f}",
        f"{beyond / l1_theirs:.2f}",
        f"{(true >= GUARANTEE.delta).mean():.2f}",
        int(outside),
    ]


COLUMNS = (
    "cell",
    "found: authors",
    "found: frontier",
    "L1 to base: authors",
    "L1 to base: frontier",
    "of which base to box",
    "of which beyond",
    "beyond / authors",
    "coverage",
    "outside the box",
)


def reference_rows(results: Path, n_jobs: int) -> list[list[Any]]:
    """Compare on every recorded cell, or read what was compared before."""
    rows = []
    for folder in (path.parent for path in sorted(FOLDER.glob("*/data.npz")) if list(path.parent.glob("models_*"))):
        kept = results / f"reference-{folder.name}.json"
        if not kept.exists():
            part = kept.with_suffix(".part")
            part.write_text(json.dumps(compare(folder, n_jobs)))
            os.replace(part, kept)
        rows.append(json.loads(kept.read_text()))
    return rows
