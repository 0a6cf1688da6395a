"""Results with ladders, made without any model, for tests of the page: many rows, many columns, odd names."""

import numpy as np
import pandas as pd

import betarce as brce
from betarce.features import FeatureSpace
from betarce.results.counterfactual import RobustCounterfactual
from betarce.results.ladder import Ladder
from betarce.results.result import Result
from betarce.robustify.certify import fingerprint

GUARANTEE = brce.Guarantee(0.9, 0.95)
N_MODELS = 103
VOTES = (103, 101, 99, 95, 88, 75, 62)
HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "مقدم الطلب رقم ٧",
    "בקשה\u202e 12",
    "🏦🙂 emoji",
    "\u2028line\u2029separators",
    "${window.hacked = 1} {n} {name}",
    "\ud800 half a letter",
    "a" * 300,
]


def wide_table(n_columns=12, n_rows=60, seed=0):
    """Make a mixed table: two thirds numbers, then whole numbers, names, names in an order, gaps."""
    rng = np.random.default_rng(seed)
    columns = {}
    for j in range(n_columns):
        match j % 6:
            case 0 | 1 | 2:
                columns[f"amount {j}"] = np.round(rng.uniform(0, 10_000, n_rows), 2)
            case 3:
                columns[f"count {j}"] = rng.integers(0, 50, n_rows)
            case 4:
                columns[f"kind {j}"] = pd.Categorical(rng.choice(["rent", "own", "with family"], n_rows))
            case 5:
                columns[f"score {j}"] = np.where(rng.random(n_rows) < 0.2, np.nan, np.round(rng.normal(size=n_rows), 3))
    return pd.DataFrame(columns)


def certified(name, original, target, features, *, far=None, base=None, seed=0, **fields):
    """Make an answer whose ladder leads from a far point back to the original, a rung for each of `VOTES`."""
    rng = np.random.default_rng(seed)
    far = original.copy() if far is None else far
    numbers = np.array([column.levels is None for column in features.columns])
    shares = np.linspace(1.0, 0.4, len(VOTES))
    box = features.box(original[None])
    rungs = np.stack([np.where(numbers, original + share * (far - original), far) for share in shares])
    rungs = features.project(rungs, box.take(np.zeros(len(VOTES), dtype=int)))
    ladder = Ladder(rungs, np.array(VOTES), np.array(VOTES))
    place = ladder.place(GUARANTEE.quorum(N_MODELS))
    robust, n_agree = rungs[place], VOTES[place]
    vote = GUARANTEE.certify(n_agree, N_MODELS, target=target, space="Bootstrap()", point=fingerprint(robust))
    # The same members vote alike about the same point.
    base, base_agree = (rungs[-1], VOTES[-1]) if base is None else (base, int(rng.integers(30, 90)))
    given = {
        "name": name,
        "target": target,
        "status": "certified",
        "reason": "",
        "note": "",
        "certificate": vote,
        "votes": (True,) * n_agree + (False,) * (N_MODELS - n_agree),
        "distance_to_base": float(features.distance(robust, base)),
        "distance_to_original": float(features.distance(robust, original)),
        "n_evaluations": int(rng.integers(500, 3000)),
        "features": features,
        "points": {"original": original, "base": base, "robust": robust},
        "runtime_s": 0.01,
        "base_agree": base_agree,
        "ladder": ladder,
    }
    return RobustCounterfactual(**{**given, **fields})


def unanswered(name, original, target, features, status="not-found", *, reason="Nothing passed.", **fields):
    """Make a row without an answer; one that was not found has a vote that fell short."""
    vote = None
    if status in ("not-found", "not-varied"):
        same = status == "not-varied"
        n_agree = N_MODELS if same else 80
        vote = GUARANTEE.certify(
            n_agree, N_MODELS, target=target, space="Bootstrap()", point=fingerprint(original), varied=not same
        )
    unread = status == "unreadable"
    given = {
        "name": name,
        "target": None if unread else target,
        "status": status,
        "reason": reason,
        "note": "",
        "certificate": vote,
        "votes": () if vote is None else (True,) * vote.n_agree + (False,) * (N_MODELS - vote.n_agree),
        "distance_to_base": np.nan,
        "distance_to_original": np.nan,
        "n_evaluations": 10,
        "features": features,
        "points": {"original": None if unread else original, "base": None, "robust": None},
        "ladder": Ladder.none(len(features)),
    }
    return RobustCounterfactual(**{**given, **fields})


def many(n_rows=30, n_columns=12, *, names=None, rules=None, seed=0):
    """Make a result of so many rows; every tenth has no answer, the third of those could have one for less."""
    table = wide_table(n_columns, seed=seed)
    features = FeatureSpace.infer(table, rules)
    points = features.encode(table)
    rng = np.random.default_rng(seed)
    names = [f"Applicant {1000 + i}" for i in range(n_rows)] if names is None else names
    items = []
    for i, name in enumerate(names):
        original, other = points[i % len(points)], points[(i * 7 + 1) % len(points)]
        moved = rng.permutation(len(features))[: rng.integers(1, 5)]
        far = original.copy()
        far[moved] = np.where(np.isnan(original[moved]) | np.isnan(other[moved]), original[moved], other[moved])
        if i % 10 == 9:
            status = ("not-found", "infeasible", "already-there", "unreadable", "not-varied")[i // 10 % 5]
            items.append(unanswered(name, original, "approved", features, status))
        else:
            items.append(certified(name, original, "approved", features, far=far, seed=i))
    return Result(items, features)
