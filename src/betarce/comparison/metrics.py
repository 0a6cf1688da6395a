"""The paper's measures of quality, as plain functions on arrays; the tables of `compare` and of the paper call them.

Points are rows of numbers, and distances are taken as they are. `scale` changes that: an array with the length of one
unit of each feature, or a :class:`betarce.FeatureSpace`, such as `rce.features_`. With the latter points may also be
tables as the model takes them; numbers then count in units of their range, and categories as 0 or 1.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, FloatArray
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.features import FeatureSpace, check_table
from betarce.features.alignment import aligned_values

Scale = FeatureSpace | AnyArray | float


def validity(model: Any, points: Any, target: Any) -> float:
    """Give the share of points that a model puts in their target class.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier(strategy="constant", constant=1).fit([[0.0], [1.0]], [0, 1])
    >>> validity(model, np.array([[0.3], [0.4]]), target=[0, 1])
    0.5
    """
    return float(np.mean(robustness([model], points, target)))


def robustness(members: Ensemble | Sequence[Any], points: Any, target: Any) -> FloatArray:
    """Give the share of retrained models that put each point in its target class, shape (n,).

    Parameters
    ----------
    members : Ensemble or sequence of classifiers
        Retrained models, M' in the paper.
    points : array of shape (n, d), or table
        Counterfactuals, as the members take them.
    target : label, or one per row
        An ensemble also takes a mask of shape (n, classes) that says which classes each row accepts.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> always = [DummyClassifier(strategy="constant", constant=c).fit([[0.0], [1.0]], [0, 1]) for c in (0, 1, 1, 1)]
    >>> robustness(always, np.array([[0.3], [0.4]]), target=[0, 1])
    array([0.25, 0.75])
    """
    if len(members) == 0:
        raise InvalidInput("`members` must hold at least one model; got none.")
    if len(points) == 0:
        return np.zeros(0)
    target = aligned_values(target, points, what="target", rows="points")
    if isinstance(members, Ensemble):
        return np.asarray(members.votes(points, target) / len(members))
    wanted = np.broadcast_to(np.asarray(target), len(points))
    return np.asarray(np.mean([np.asarray(member.predict(points)) == wanted for member in members], axis=0))


def empirical_robustness(model: Any, members: Sequence[Any], points: Any) -> float:
    """Give the share of points and retrained models where the class is still the one that the model gives.

    Parameters
    ----------
    model : classifier
        The model explained, M in the paper.
    members : sequence of classifiers
        Retrained models, M' in the paper.
    points : array of shape (n, d), or table
        Counterfactuals, as the models take them.

    Notes
    -----
    The paper's Eq. 9, averaged over the members. See `robustness` for a share per point.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> always = [DummyClassifier(strategy="constant", constant=c).fit([[0.0], [1.0]], [0, 1]) for c in (0, 1, 1, 1)]
    >>> empirical_robustness(always[1], always, np.array([[0.3], [0.4]]))
    0.75
    """
    if len(members) == 0:
        raise InvalidInput("`members` must hold at least one model; got none.")
    return float(np.mean(robustness(members, points, model.predict(points))))


def proximity(points: Any, originals: Any, *, p: float = 1, scale: Scale = 1.0) -> FloatArray:
    """Give the Lp distance of each counterfactual to its original, shape (n,).

    Examples
    --------
    >>> proximity(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0]]))
    array([7.])
    >>> proximity(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0]]), p=2)
    array([5.])

    On a table with a category, in the units of its feature space:

    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [20.0, 40.0, 60.0], "home": ["rent", "own", "own"]})
    >>> proximity(table[:1], table[1:2], scale=FeatureSpace.infer(table))
    array([1.5])
    """
    return _length(*_pair(points, originals, scale), p, scale)


def distance_to_base(robust: Any, base: Any, *, scale: Scale = 1.0) -> FloatArray:
    """Give the L1 distance of each robust counterfactual to its base, shape (n,).

    Examples
    --------
    >>> distance_to_base(np.array([[1.0, 2.0]]), np.array([[1.0, 0.5]]))
    array([1.5])
    """
    return proximity(robust, base, p=1, scale=scale)


def plausibility(points: Any, X_train: Any, *, n_neighbors: int = 15, p: float = 2, scale: Scale = 1.0) -> FloatArray:
    """Give the mean distance of each point to its nearest training rows, shape (n,); smaller is more plausible.

    Parameters
    ----------
    points : array of shape (n, d)
    X_train : array of shape (rows, d)
    n_neighbors : int
        15 in the authors' code.
    p : float
        Which Lp distance.
    scale : array of shape (d,), float or FeatureSpace
        The units of distances.

    Examples
    --------
    >>> plausibility(np.array([[0.0]]), np.array([[1.0], [2.0], [9.0]]), n_neighbors=2)
    array([1.5])
    """
    rows, train = _rows(points, scale), _rows(X_train, scale)
    if not 1 <= n_neighbors <= len(train):
        raise InvalidInput(f"`n_neighbors` must be between 1 and the {len(train)} training rows; got {n_neighbors!r}.")
    return np.array([np.sort(_length(row, train, p, scale))[:n_neighbors].mean() for row in rows])


def sparsity(points: Any, originals: Any, *, tolerance: float = 1e-9, scale: Scale = 1.0) -> FloatArray:
    """Count the features that each counterfactual changes, shape (n,).

    Parameters
    ----------
    points, originals : array of shape (n, d)
    tolerance : float
        Differences up to this, in original units, are none. Two missing values do not differ.
    scale : FeatureSpace, optional
        Reads tables; units play no role here.

    Examples
    --------
    >>> sparsity(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 2.5, 0.0]]))
    array([2])
    """
    a, b = _pair(points, originals, scale)
    return np.asarray(((np.abs(a - b) > tolerance) | (np.isnan(a) != np.isnan(b))).sum(axis=1))


def _length(a: FloatArray, b: FloatArray, p: float, scale: Scale) -> FloatArray:
    gaps = scale.gaps(a, b) if isinstance(scale, FeatureSpace) else (a - b) / scale
    return np.asarray(np.linalg.norm(gaps, ord=p, axis=-1))


def _pair(a: Any, b: Any, scale: Scale) -> tuple[FloatArray, FloatArray]:
    left, right = _rows(a, scale), _rows(b, scale)
    if left.shape != right.shape or left.ndim != 2:
        raise InvalidInput(f"Points must be two tables of one shape (n, d); got {left.shape} and {right.shape}.")
    return left, right


def _rows(points: Any, scale: Scale) -> FloatArray:
    encoded = isinstance(points, np.ndarray) and points.dtype.kind == "f"
    if isinstance(scale, FeatureSpace) and not encoded:
        return scale.encode(check_table(points, what="points"), what="points")
    return np.asarray(points, dtype=float)
