"""Whether points keep their class when the weights of a linear model or a network shift a little.

A shift adds something to every weight and bias. Two questions are answered for all shifts up to a radius:
`interval_robust` proves validity under every one of them, `sampled_robust` counts under how many of a random sample.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.checks import check_whole, is_number, is_one_of
from betarce.comparison.shifted_layers import (
    ShiftNorm,
    lower_margin,
    read_layers,
    shifted_margins,
    unit_shifts,
)
from betarce.errors import InvalidInput
from betarce.posterior import EXACT, Guarantee, lower_bound
from betarce.seeding import check_seed, generator

CHUNK = 1 << 22  # floats that are held at once


def interval_robust(model: Any, points: AnyArray, target: Any, *, radius: float, norm: ShiftNorm = "inf") -> BoolArray:
    """Say which points provably keep their class under every shift of the weights up to a radius, shape (n,).

    Parameters
    ----------
    model : fitted classifier
        `betarce.Network`, `MLPClassifier`, `LogisticRegression` or another linear model of scikit-learn; transformers
        may precede it in a pipeline. The weights that shift are the model's own.
    points : array of shape (n, d)
        As the model takes them.
    target : label, set of labels, or one of either per row
    radius : float
        How far weights and biases may shift.
    norm : {"inf", "l2"}
        "inf": every weight and bias by at most `radius`. "l2": all of them together, in Euclidean norm.

    Notes
    -----
    The Delta-robustness of Jiang et al., by interval bounds: True is a proof (up to float64 rounding), False is not a
    proof of the contrary unless the model is linear. See `interval_margin` for the bound.

    References
    ----------
    Jiang, Leofante, Rago, Toni: Formalising the robustness of counterfactual explanations for neural networks. AAAI
    2023.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression(C=100).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> interval_robust(model, np.array([[1.6], [3.0]]), 1, radius=0.5)
    array([False,  True])
    """
    return np.asarray(interval_margin(model, points, target, radius=radius, norm=norm) > 0)


def interval_margin(model: Any, points: AnyArray, target: Any, *, radius: float, norm: ShiftNorm = "inf") -> FloatArray:
    """Bound from below the margin of the target under every shift of the weights up to a radius, shape (n,).

    The parameters are those of `interval_robust`.

    Notes
    -----
    Intervals are carried through the layers. With inputs in ``[l, u]``, ``u >= l >= 0``, and weights in
    ``[W - r, W + r]``, a unit lies above ``(W - r)+ l - (W - r)- u + b - r``; the first layer, whose input is a point,
    above ``W x + b - r (|x|_1 + 1)``. In the Euclidean norm a unit shifts by at most ``r |(a, 1)|_2``. Of several
    classes the margin between each two is bounded, since both read the same last hidden layer. So the bound is exact
    for linear models, and exact for each layer alone.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> own = model.decision_function([[3.0]])
    >>> bool(np.isclose(interval_margin(model, np.array([[3.0]]), 1, radius=0.1), own - 0.1 * (3 + 1))[0])
    True
    """
    _check_radius(radius, norm)
    layers = read_layers(model)
    inputs, wanted = layers.check(points, target)
    margins = np.empty(len(inputs))
    for part in _chunks(len(inputs), 8 * layers.width):
        margins[part] = lower_margin(layers, inputs[part], wanted[part], float(radius), norm)
    return margins


@dataclass(frozen=True, eq=False)
class SampledShifts:
    """How points fared under sampled shifts.

    Attributes
    ----------
    n_valid : array of int, shape (n,)
        Shifts under which each point kept its class.
    n_samples : int
        Shifts sampled.
    confidence : float

    Examples
    --------
    >>> sampled = SampledShifts(np.array([100, 80]), n_samples=100, confidence=0.95)
    >>> sampled.lower_bound.round(2)
    array([0.97, 0.72])
    """

    n_valid: IntArray
    n_samples: int
    confidence: float

    @property
    def share(self) -> FloatArray:
        """The share of sampled shifts under which each point kept its class."""
        return np.asarray(self.n_valid / self.n_samples)

    @property
    def lower_bound(self) -> FloatArray:
        """The share of all shifts that the sample vouches for, by the exact binomial bound."""
        return lower_bound(self.n_valid, self.n_samples, confidence=self.confidence, prior=EXACT)

    @property
    def robust(self) -> BoolArray:
        """Which points kept their class under every sampled shift."""
        return np.asarray(self.n_valid == self.n_samples)


def sampled_robust(
    model: Any,
    points: AnyArray,
    target: Any,
    *,
    radius: float,
    n_samples: int | None = None,
    rate: float = 0.995,
    confidence: float = 0.999,
    norm: ShiftNorm = "inf",
    random_state: int | np.random.Generator | None = 0,
) -> SampledShifts:
    """Count under how many random shifts of the weights points keep their class.

    Parameters
    ----------
    model, points, target, radius, norm
        As in `interval_robust`. Shifts are uniform in the box or ball of this radius.
    n_samples : int, optional
        Shifts to sample. By default so many that a point which survives all of them keeps its class under at least
        `rate` of all shifts, with `confidence`.
    rate, confidence : float
        See there; `confidence` is also that of `lower_bound`.
    random_state : None, int or numpy generator
        All points meet the same shifts.

    Notes
    -----
    The test of AP-Delta-S by Marzari et al.: if all n samples are valid, at least a share R of the shifts is, with
    confidence ``1 - R ** n``.

    References
    ----------
    Marzari, Leofante, Cicalese, Farinelli: Rigorous probabilistic guarantees for robust counterfactual explanations.
    ECAI 2024.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression(C=100).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> sampled = sampled_robust(model, np.array([[1.6], [3.0]]), 1, radius=0.5)
    >>> sampled.n_samples, sampled.robust
    (1379, array([False,  True]))
    >>> sampled.lower_bound.round(3)[1] >= 0.995
    np.True_
    """
    _check_radius(radius, norm)
    needed = Guarantee(rate, confidence, EXACT).min_models()
    n = needed if n_samples is None else n_samples
    check_whole("n_samples", n)
    layers = read_layers(model)
    inputs, wanted = layers.check(points, target)
    rng = generator(check_seed(random_state), "shifts")
    n_valid = np.zeros(len(inputs), dtype=np.intp)
    for part in _chunks(n, 2 * layers.size + len(inputs) * 2 * layers.width):
        shifts = float(radius) * unit_shifts(rng, part.stop - part.start, layers.size, norm)
        for some in _chunks(len(inputs), (part.stop - part.start) * 2 * layers.width):
            margins = shifted_margins(layers, inputs[some], wanted[some], shifts)
            n_valid[some] += (margins > 0).sum(axis=0)
    return SampledShifts(n_valid, n, confidence)


def _check_radius(radius: Any, norm: Any) -> None:
    if not is_number(radius) or not 0 <= radius < np.inf:
        raise InvalidInput(f"`radius` must be a number >= 0; got {radius!r}.")
    if not is_one_of(norm, ("inf", "l2")):
        raise InvalidInput(f"`norm` must be 'inf' or 'l2'; got {norm!r}.")


def _chunks(n: int, width: int) -> Iterator[slice]:
    size = max(1, CHUNK // max(1, width))
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))
