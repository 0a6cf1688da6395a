"""The paper's measures of quality, as plain functions on arrays.

Points are rows of numbers. Distances are taken as they are: scale the features first, as the paper does, or pass
`scale` with the length of one unit of each feature.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, FloatArray
from betarce.errors import InvalidInput


def validity(model: Any, points: AnyArray, target: Any) -> float:
    """Give the share of points that a model puts in their target class.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier(strategy="constant", constant=1).fit([[0.0], [1.0]], [0, 1])
    >>> validity(model, np.array([[0.3], [0.4]]), target=[0, 1])
    0.5
    """
    labels = np.asarray(model.predict(points))
    return float(np.mean(labels == np.broadcast_to(np.asarray(target), labels.shape)))


def empirical_robustness(model: Any, members: Sequence[Any], points: AnyArray) -> float:
    """Give the share of points and retrained models where the class is still the one that the model gives.

    Parameters
    ----------
    model : classifier
        The model explained, M in the paper.
    members : sequence of classifiers
        Retrained models, M' in the paper.
    points : array of shape (n, d)
        Counterfactuals.

    Notes
    -----
    The paper's Eq. 9, averaged over the members.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> always = [DummyClassifier(strategy="constant", constant=c).fit([[0.0], [1.0]], [0, 1]) for c in (0, 1, 1, 1)]
    >>> empirical_robustness(always[1], always, np.array([[0.3], [0.4]]))
    0.75
    """
    if len(members) == 0:
        raise InvalidInput("`members` must hold at least one model; got none.")
    now = np.asarray(model.predict(points))
    return float(np.mean([np.mean(np.asarray(member.predict(points)) == now) for member in members]))


def proximity(points: AnyArray, originals: AnyArray, *, p: float = 1, scale: AnyArray | float = 1.0) -> FloatArray:
    """Give the Lp distance of each counterfactual to its original, shape (n,).

    Examples
    --------
    >>> proximity(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0]]))
    array([7.])
    >>> proximity(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0]]), p=2)
    array([5.])
    """
    gap = _gap(points, originals, scale)
    return np.asarray(np.linalg.norm(gap, ord=p, axis=1))


def distance_to_base(robust: AnyArray, base: AnyArray, *, scale: AnyArray | float = 1.0) -> FloatArray:
    """Give the L1 distance of each robust counterfactual to its base, shape (n,).

    Examples
    --------
    >>> distance_to_base(np.array([[1.0, 2.0]]), np.array([[1.0, 0.5]]))
    array([1.5])
    """
    return proximity(robust, base, p=1, scale=scale)


def plausibility(
    points: AnyArray, X_train: AnyArray, *, n_neighbors: int = 15, p: float = 2, scale: AnyArray | float = 1.0
) -> FloatArray:
    """Give the mean distance of each point to its nearest training rows, shape (n,); smaller is more plausible.

    Parameters
    ----------
    points : array of shape (n, d)
    X_train : array of shape (rows, d)
    n_neighbors : int
        15 in the authors' code.
    p : float
        Which Lp distance.
    scale : array of shape (d,)
        The length of one unit of each feature.

    Examples
    --------
    >>> plausibility(np.array([[0.0]]), np.array([[1.0], [2.0], [9.0]]), n_neighbors=2)
    array([1.5])
    """
    from scipy.spatial import KDTree

    train = np.asarray(X_train, dtype=float) / scale
    if not 1 <= n_neighbors <= len(train):
        raise InvalidInput(f"`n_neighbors` must be between 1 and the {len(train)} training rows; got {n_neighbors!r}.")
    distances, _ = KDTree(train).query(np.asarray(points, dtype=float) / scale, k=[*range(1, n_neighbors + 1)], p=p)
    return np.asarray(distances.mean(axis=1))


def sparsity(points: AnyArray, originals: AnyArray, *, tolerance: float = 1e-9) -> FloatArray:
    """Count the features that each counterfactual changes, shape (n,).

    Examples
    --------
    >>> sparsity(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 2.5, 0.0]]))
    array([2])
    """
    return np.asarray((np.abs(_gap(points, originals, 1.0)) > tolerance).sum(axis=1))


def _gap(a: AnyArray, b: AnyArray, scale: AnyArray | float) -> FloatArray:
    left, right = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if left.shape != right.shape or left.ndim != 2:
        raise InvalidInput(f"Points must be two tables of one shape (n, d); got {left.shape} and {right.shape}.")
    return np.asarray((left - right) / scale)
