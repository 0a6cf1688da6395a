"""Answers made by hand on a small mixed table, for tests of how they are shown."""

import numpy as np
import pandas as pd

import betarce as brce
from betarce.features import FeatureSpace
from betarce.results.counterfactual import RobustCounterfactual
from betarce.results.result import Result

GUARANTEE = brce.Guarantee(0.9, 0.95, "jeffreys")
N = 40
RNG = np.random.default_rng(0)
HOUSING = ("housing_own", "housing_rent", "housing_free")
LIVES = RNG.integers(0, 3, N)
TABLE = pd.DataFrame(
    {
        "age": [18, 80, *RNG.integers(18, 80, N - 2)],
        "income": [0.0, 100_000.0, *np.round(RNG.uniform(1e3, 9e4, N - 2), 2)],
        "owner": RNG.random(N) > 0.5,
        "purpose": [("car", "home", "education")[i % 3] for i in range(N)],
        "grade": pd.Categorical(RNG.choice(["low", "mid", "high"], N), ["low", "mid", "high"], ordered=True),
        "visits": pd.array([None if i % 7 == 0 else i % 5 for i in range(N)], dtype="Int64"),
        "<script>alert(1)</script>": [("<b>bold</b>", "you & me")[i % 2] for i in range(N)],
        "cost in $ per $": RNG.normal(size=N),
        **{name: (i == LIVES).astype(int) for i, name in enumerate(HOUSING)},
    }
)
FEATURES = FeatureSpace.infer(TABLE, {HOUSING: brce.one_hot()})
START = {
    "age": 30,
    "income": 12_000.0,
    "owner": False,
    "purpose": "car",
    "grade": "low",
    "visits": 1,
    "<script>alert(1)</script>": "<b>bold</b>",
    "cost in $ per $": 0.25,
    **dict(zip(HOUSING, (0, 1, 0), strict=True)),
}


def point(features=FEATURES, table=TABLE, **values):
    """Give the point of a row that starts at `START` and has some other values."""
    row = pd.DataFrame([{**START, **values}]).astype(table.dtypes.to_dict())
    return features.encode(row[list(table.columns)])[0]


def answer(base=None, robust=None, *, original=None, name=17, n_agree=37, n_models=38, members="fresh", **fields):
    """Make a certified answer of points, or of what they have other than the start."""
    start, base, robust = (
        value if isinstance(value, np.ndarray) else point(**(value or {})) for value in (original, base, robust)
    )
    given = {
        "target": "approved",
        "status": "certified",
        "reason": "",
        "note": "",
        "certificate": GUARANTEE.certify(n_agree, n_models, members=members),
        "votes": (False,) * (n_models - n_agree) + (True,) * n_agree,
        "distance_to_base": float(FEATURES.distance(base, robust)),
        "distance_to_original": float(FEATURES.distance(start, robust)),
        "n_evaluations": 1000,
        "runtime_s": 0.02,
        "features": FEATURES,
        "points": {"original": start, "base": base, "robust": robust},
    }
    return RobustCounterfactual(name=name, **{**given, **fields})


def failure(status="not-found", reason="Nothing passed.", *, name=18, **fields):
    """Make an answer without a point."""
    nothing = {"distance_to_base": np.nan, "distance_to_original": np.nan}
    points = {"original": point(), "base": None, "robust": None}
    return answer(
        name=name,
        **{"status": status, "reason": reason, "certificate": None, "votes": (), "points": points, **nothing, **fields},
    )


def batch(*items, features=FEATURES):
    """Put answers together."""
    return Result(items, features)
