"""Serialise the training table of a run as arrays: its rows as points, its labels as they are."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray, FloatArray
from betarce.errors import CorruptFile
from betarce.features import FeatureSpace
from betarce.features.stored import dtype_of_plain, faults_are_corrupt, plain_dtype
from betarce.models.recipe import Table
from betarce.storage.array_file import from_bytes, to_bytes
from betarce.storage.documents import parse_json
from betarce.storage.values import plain, unplain

_DIRECT = "biufU"


def table_content(table: Table, points: FloatArray) -> bytes:
    """Write a training table as the content of a file.

    Parameters
    ----------
    table : Table
        For its labels.
    points : array of shape (n, d)
        Its rows as points.

    Examples
    --------
    >>> X, y = pd.DataFrame({"age": [20, 60]}), pd.Series(["no", "yes"], name="approved")
    >>> features = FeatureSpace.infer(X)
    >>> table, points = table_of_content(table_content(Table(X, y), features.encode(X)), features)
    >>> table.X.equals(X), table.y.equals(y)
    (True, True)
    """
    labels = table.y
    if isinstance(labels, np.ndarray) and labels.dtype.kind in _DIRECT:
        about: dict[str, Any] = {"labels": "array"}
        values: AnyArray = labels
    else:
        levels, values = np.unique(np.asarray(labels, dtype=object), return_inverse=True)
        about = {"labels": "levels", "levels": [plain(level, what="a class") for level in levels.tolist()]}
        if isinstance(labels, pd.Series):
            about |= {"labels": "series", "dtype": plain_dtype(labels.dtype), "name": plain(labels.name, what="a name")}
    text = np.frombuffer(json.dumps(about, allow_nan=False).encode("ascii"), dtype=np.uint8)
    return to_bytes({"about": text, "points": np.asarray(points, dtype=np.float64), "labels": values})


def table_of_content(content: bytes, features: FeatureSpace) -> tuple[Table, FloatArray]:
    """Read what `table_content` wrote: the table in the user's own form, and its rows as points.

    Raises
    ------
    CorruptFile
        If it holds something else, or does not fit the features.
    """
    with faults_are_corrupt("training table"):
        arrays = from_bytes(content)
        about = parse_json(arrays["about"].tobytes().decode("ascii"))
        points, values = arrays["points"], arrays["labels"]
        if points.ndim != 2 or points.dtype != np.float64 or points.shape[1] != len(features):
            raise CorruptFile(f"its rows have the shape {points.shape}, for {len(features)} columns")
        if values.shape != points.shape[:1]:
            raise CorruptFile(f"it has {len(points)} rows and labels of the shape {values.shape}")
        table = Table(features.decode(points), _labels(about, values))
        if not np.array_equal(features.encode(table.X), points, equal_nan=True):
            raise CorruptFile("its rows are not points of its features")
        return table, points


def table_digest(table: Table, points: FloatArray) -> str:
    """Give the SHA-256 digest of a training table: what `sha256sum` says of the file in a run."""
    return sha256(table_content(table, points)).hexdigest()


def _labels(about: Mapping[str, Any], values: AnyArray) -> Any:
    if about["labels"] == "array":
        return values
    levels = np.empty(len(about["levels"]), dtype=object)
    levels[:] = [unplain(level) for level in about["levels"]]
    found = levels[values]
    if about["labels"] == "levels":
        return found
    return pd.Series(found, dtype=dtype_of_plain(about["dtype"]), name=unplain(about["name"]))
