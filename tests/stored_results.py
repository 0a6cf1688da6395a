"""Results of every status, made without a search, to be stored and read again."""

import numpy as np

from betarce.features import FeatureSpace
from betarce.posterior import Guarantee
from betarce.results.ladder import Ladder
from betarce.robustify import Result, RobustCounterfactual
from betarce.robustify.certify import certificate_of

GUARANTEE = Guarantee(0.6, 0.8)
STATUSES = [
    "certified",
    "base-not-found",
    "not-found",
    "infeasible",
    "budget-spent",
    "already-there",
    "not-varied",
    "unreadable",
]
BASED = ("certified", "not-found", "infeasible", "budget-spent", "not-varied")
VOTED = ("certified", "not-found", "budget-spent", "not-varied")


def item(features, points, status="certified", name=0, target="yes", seed=0, **parts):
    """Make one row of a result without a search."""
    rng = np.random.default_rng(seed)
    original, base, robust = points
    robust = allowed(robust, original, features, parts.get("overrides")) if status == "certified" else None
    votes = tuple([True] * 4 + [status in ("certified", "not-varied")] * 5) if status in VOTED else ()
    certificate = None
    if votes:
        voted = base if robust is None else robust
        certificate = certificate_of(
            voted,
            target,
            sum(votes),
            len(votes),
            GUARANTEE,
            steered=False,
            space="Seed()",
            varied=status != "not-varied",
        )
    ladder = Ladder.none(len(features))
    if status == "certified":
        ladder = Ladder(robust[None], np.array([len(votes)]), np.array([len(votes)]))
    if status == "unreadable":
        original = base = target = None
    fields = {
        "name": name,
        "target": target,
        "status": status,
        "reason": "" if status == "certified" else "No way. ✗",
        "note": "",
        "certificate": certificate,
        "votes": votes,
        "distance_to_base": np.nan if robust is None else float(features.distance(robust, base)),
        "distance_to_original": np.nan if robust is None else float(features.distance(robust, original)),
        "n_evaluations": int(rng.integers(1000)),
        "features": features,
        "points": {"original": original, "base": base if status in BASED else None, "robust": robust},
        "runtime_s": float(rng.random()),
        "base_agree": (sum(votes) if robust is None or (base == robust).all() else 5) if votes else None,
        "ladder": ladder,
    }
    return RobustCounterfactual(**(fields | parts))


def allowed(point, original, features, overrides=None):
    """Move a point to where the rules of its row allow it."""
    return features.project(point[None], features.box(original[None], [overrides or None]))[0]


def result_of(table, names=None, statuses=STATUSES, rules=None, **parts):
    features = FeatureSpace.infer(table, rules)
    points = features.encode(table)
    names = list(range(len(statuses))) if names is None else names
    n = len(points)
    items = [
        item(features, (points[i % n], points[(i + 1) % n], points[(i + 2) % n]), status, name, seed=i, **parts)
        for i, (status, name) in enumerate(zip(statuses, names, strict=True))
    ]
    return Result(items, features)
