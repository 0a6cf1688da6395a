"""Mixed tables of the user's kind, the points that stand for their rows, and pipelines over them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from betarce.features.readings import Reading


@dataclass(frozen=True, eq=False)
class Columns:
    """What an ensemble asks of a feature space, over a pandas table.

    `dtypes` has the dtype of each column of the table; a one-hot group has several columns and one source.
    """

    readings: tuple
    dtypes: tuple

    @property
    def width(self):
        return 1 + max(reading.source for reading in self.readings)

    def decode(self, points):
        return pd.DataFrame(
            {
                reading.name: _column(points[:, reading.source], reading.levels, dtype)
                for reading, dtype in zip(self.readings, self.dtypes, strict=True)
            }
        )

    def draw(self, rng, n, *, missing=0.1):
        """Draw points: numbers of very different size, any level, some of it missing."""
        points = np.empty((n, self.width))
        for reading, dtype in zip(self.readings, self.dtypes, strict=True):
            j = reading.source
            if reading.levels is not None:
                points[:, j] = rng.integers(0, len(reading.levels), n)
            elif dtype == "int64":
                points[:, j] = rng.integers(-3, 12, n)
            else:
                points[:, j] = rng.normal(size=n) * 10.0 ** (3 * j % 7 - 2) + j
                points[:, j] = points[:, j].astype(dtype)
            if missing and dtype not in ("int64", "bool"):
                points[rng.random(n) < missing, j] = np.nan
        return points


def _column(values, levels, dtype):
    if levels is None:
        return pd.Series(values, dtype=dtype if not np.isnan(values).any() else "float64")
    found = [None if np.isnan(value) else levels[int(value)] for value in values]
    if dtype == "category":
        return pd.Series(pd.Categorical(found, categories=list(levels)))
    return pd.Series(found, dtype=dtype)


def columns(*, category="category", group=True, number="float64"):
    """Four numbers, one of them whole, three categories, and a one-hot group of three raw columns."""
    readings = [Reading(f"n{j}", j) for j in range(4)]
    dtypes = [number, "int64", number, number]
    for j, size in enumerate((2, 4, 7), start=4):
        readings.append(Reading(f"c{j}", j, tuple(f"level {i}" for i in range(size))))
        dtypes.append(category)
    if group:
        for i in range(3):
            readings.append(Reading(f"g{i}", 7, tuple(int(i == code) for code in range(3))))
            dtypes.append("int64")
    # Not in the order of the sources, as nobody promises that.
    order = [4, 0, 1, 5, 7, 2, 8, 3, 6, 9] if group else [4, 0, 1, 5, 2, 3, 6]
    return Columns(tuple(readings[i] for i in order), tuple(dtypes[i] for i in order))


def labels(points, rng, n_classes=2):
    """Classes that hang on numbers, levels and what is missing, with noise."""
    filled = np.nan_to_num(points, nan=1.5)
    spread = np.nanstd(points, axis=0) + 1e-9
    score = (filled - filled.mean(axis=0)) / spread @ np.cos(np.arange(points.shape[1]))
    score += np.sin(2 * filled[:, 5]) + rng.normal(size=len(points)) * 0.3
    return np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)


NUMBERS = ["n0", "n1", "n2", "n3"]
CATEGORIES = ["c4", "c5", "c6"]
GROUP = ["g0", "g1", "g2"]


def bootstrap(make, space, points, y, n=3, seed=0):
    """Train members on bootstrap samples from which, by turns, a level is gone."""
    models = []
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        rows = rng.integers(0, len(points), len(points))
        rows = rows[points[rows, 6] != i] if i else rows
        models.append(make(i).fit(space.decode(points[rows]), y[rows]))
    return models


def problem(space, seed=0, n=400, n_classes=2, missing=0.1):
    rng = np.random.default_rng(seed)
    points = space.draw(rng, n, missing=missing)
    return points, labels(points, rng, n_classes)


SCALERS = {
    "standard": StandardScaler,
    "uncentered": lambda: StandardScaler(with_mean=False),
    "undivided": lambda: StandardScaler(with_std=False),
    "min-max": lambda: MinMaxScaler((-1, 2)),
    "clipped": lambda: MinMaxScaler(clip=True),
    "max-abs": MaxAbsScaler,
    "robust": RobustScaler,
    "half robust": lambda: RobustScaler(with_centering=False),
    "none": lambda: "passthrough",
}
IMPUTERS = {
    "mean": SimpleImputer,
    "median": lambda: SimpleImputer(strategy="median", add_indicator=True),
    "most frequent": lambda: SimpleImputer(strategy="most_frequent"),
    "constant": lambda: SimpleImputer(strategy="constant", fill_value=-7.5),
    "none": lambda: "passthrough",
}
ENCODERS = {
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore"),
    "one-hot, dense": lambda: OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32),
    "one-hot, dropped": lambda: OneHotEncoder(handle_unknown="ignore", drop="if_binary"),
    "one-hot, rare": lambda: OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=30, max_categories=4),
    "ordinal": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
    "ordinal, missing kept": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
    "target": lambda: TargetEncoder(cv=2),
    "imputed one-hot": lambda: make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    ),
}


def preprocessing(scaler="standard", imputer="mean", encoder="one-hot", **options):
    return ColumnTransformer(
        [
            ("categories", ENCODERS[encoder](), CATEGORIES),
            ("numbers", make_pipeline(IMPUTERS[imputer](), SCALERS[scaler]()), NUMBERS),
        ],
        **{"remainder": "passthrough", **options},
    )
