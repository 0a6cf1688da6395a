"""A small problem with names and rules, and rows to explain."""

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from betarce.ensemble import Ensemble
from betarce.explainers import Problem
from betarce.features import FeatureSpace
from betarce.rules import immutable, one_of

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "a": RNG.random(200),
        "b": RNG.integers(0, 10, 200),
        "c": RNG.random(200) * 100,
        "d": RNG.choice(["x", "y", "z"], 200),
    }
)
LABELS = (TABLE["a"] + TABLE["b"] / 10 + 0.3 * (TABLE["d"] == "y") > 1.1).astype(int)
ENCODER = ColumnTransformer([("names", OneHotEncoder(), ["d"])], remainder="passthrough")
MODEL = make_pipeline(ENCODER, LogisticRegression(C=100, max_iter=1000)).fit(TABLE, LABELS)
FEATURES = FeatureSpace.infer(TABLE, rules={"c": immutable(), "d": one_of(["x", "y"])})
POINTS = FEATURES.encode(TABLE)
PROBLEM = Problem(Ensemble([MODEL], [0, 1], features=FEATURES), FEATURES, POINTS, LABELS.to_numpy())
ORIGINALS = POINTS[:12]
TARGETS = MODEL.predict(TABLE[:12])[:, None] != np.array([0, 1])
SEEDS = list(range(12))
