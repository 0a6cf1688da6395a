"""The paper's measures of quality, as plain functions on arrays; the tables of `compare` and of the paper call them.

Points are rows of numbers, and distances are taken as they are. `scale` changes that: an array with the length of one
unit of each feature, or a :class:`betarce.FeatureSpace`, such as `rce.features_`. With the latter points may also be
tables as the model takes them; numbers then count in units of their range, and categories as 0 or 1.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, FloatArray
from betarce.checks import check_models, is_number
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
    check_models("model", [model])
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
    if not isinstance(members, Ensemble):
        check_models("members", members)
    if _has_no_rows(points):
        return np.zeros(0)
    check_table(points, what="points")
    target = aligned_values(target, points, what="target", rows="points")
    if isinstance(members, Ensemble):
        return np.asarray(members.votes(points, target) / len(members))
    wanted = _one_each(target, len(points))
    labels = [_predicted(member, points) for member in members]
    try:
        return np.asarray(np.mean([given == wanted for given in labels], axis=0))
    except Exception:  # noqa: BLE001 - whatever a label of a foreign kind does when it is compared
        raise InvalidInput(f"`target` must be one class, or one per point ({len(points)}); got {target!r}.") from None


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
    check_models("model", [model])
    if not _has_no_rows(points):
        check_table(points, what="points")
    return float(np.mean(robustness(members, points, _predicted(model, points))))


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
    if train.ndim != 2 or rows.ndim != 2 or rows.shape[1] != train.shape[1]:
        raise InvalidInput(f"Points and rows must be tables of one width; got {rows.shape} and {train.shape}.")
    if not isinstance(n_neighbors, (int, np.integer)) or not 1 <= n_neighbors <= len(train):
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
    if not is_number(tolerance):
        raise InvalidInput(f"`tolerance` must be a number; got {tolerance!r}.")
    a, b = _pair(points, originals, scale)
    return np.asarray(((np.abs(a - b) > tolerance) | (np.isnan(a) != np.isnan(b))).sum(axis=1))


def _has_no_rows(points: Any) -> bool:
    return getattr(points, "ndim", 0) == 2 and len(points) == 0


def _one_each(target: Any, n: int) -> AnyArray:
    try:
        return np.broadcast_to(np.asarray(target), n)
    except ValueError as error:
        raise InvalidInput(f"`target` must be one class, or one per point ({n}); {error}.") from error


def _predicted(model: Any, points: Any) -> AnyArray:
    try:
        return np.asarray(model.predict(points))
    except Exception as error:
        raise InvalidInput(
            f"`points` must be what models take; {type(model).__name__} failed with {type(error).__name__}: {error}"
        ) from error


def _length(a: FloatArray, b: FloatArray, p: float, scale: Scale) -> FloatArray:
    if not is_number(p) or not 1 <= p <= np.inf:
        raise InvalidInput(f"`p` must be a number >= 1, or infinity; got {p!r}.")
    gaps = scale.gaps(a, b) if isinstance(scale, FeatureSpace) else (a - b) / _units(scale, a.shape[-1])
    return np.asarray(np.linalg.norm(gaps, ord=p, axis=-1))


def _units(scale: Any, n_features: int) -> FloatArray:
    try:
        units = np.asarray(scale, dtype=float)
    except (TypeError, ValueError, OverflowError):
        units = np.zeros(0)
    if units.shape not in ((), (n_features,)) or not bool((units > 0).all()):
        raise InvalidInput(f"`scale` must be {n_features} numbers > 0, one number, or a FeatureSpace; got {scale!r}.")
    return units


def _pair(a: Any, b: Any, scale: Scale) -> tuple[FloatArray, FloatArray]:
    left, right = _rows(a, scale), _rows(b, scale)
    if left.shape != right.shape or left.ndim != 2:
        raise InvalidInput(f"Points must be two tables of one shape (n, d); got {left.shape} and {right.shape}.")
    return left, right


def _rows(points: Any, scale: Scale) -> FloatArray:
    encoded = isinstance(points, np.ndarray) and points.dtype.kind == "f"
    if isinstance(scale, FeatureSpace) and not encoded:
        return scale.encode(check_table(points, what="points"), what="points")
    try:
        return np.asarray(points, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"Points must be rows of numbers, or `scale` a FeatureSpace that reads them; {error}."
        ) from error
