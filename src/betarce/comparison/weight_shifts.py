"""Whether points keep their class when the weights of a linear model or a network shift a little.

A shift adds something to every weight and bias. Two questions are answered for all shifts up to a radius:
`interval_robust` proves validity under every one of them, `sampled_robust` counts under how many of a random sample.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble import linear, networks
from betarce.ensemble.generic import margins_from_scores
from betarce.ensemble.preprocessing.unwrap import Peeled, unwrap
from betarce.errors import InvalidInput
from betarce.posterior import EXACT, Guarantee, lower_bound
from betarce.seeding import check_seed, generator
from betarce.targets import accepted

ShiftNorm = Literal["inf", "l2"]
_CHUNK = 1 << 22  # floats that are held at once


def interval_robust(model: Any, points: AnyArray, target: Any, *, radius: float, norm: ShiftNorm = "inf") -> BoolArray:
    """Say which points provably keep their class under every shift of the weights up to a radius, shape (n,).

    Parameters
    ----------
    model : fitted classifier
        `betarce.Network`, `MLPClassifier`, `LogisticRegression` or another linear model of scikit-learn; transformers
        may stand in front of it in a pipeline. The weights that shift are the model's own, behind them.
    points : array of shape (n, d)
        As the model takes them.
    target : label, set of labels, or one of either a row
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
    layers = _read(model)
    inputs, wanted = layers.check(points, target)
    margins = np.empty(len(inputs))
    for part in _chunks(len(inputs), 8 * layers.width):
        margins[part] = _lower_margin(layers, inputs[part], wanted[part], float(radius), norm)
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
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InvalidInput(f"`n_samples` must be a whole number >= 1, or None; got {n_samples!r}.")
    layers = _read(model)
    inputs, wanted = layers.check(points, target)
    rng = generator(check_seed(random_state), "shifts")
    n_valid = np.zeros(len(inputs), dtype=np.intp)
    for part in _chunks(n, 2 * layers.size + len(inputs) * 2 * layers.width):
        shifts = float(radius) * _unit_shifts(rng, part.stop - part.start, layers.size, norm)
        for some in _chunks(len(inputs), (part.stop - part.start) * 2 * layers.width):
            margins = _shifted_margins(layers, inputs[some], wanted[some], shifts)
            n_valid[some] += (margins > 0).sum(axis=0)
    return SampledShifts(n_valid, n, confidence)


@dataclass(frozen=True, eq=False)
class _Layers:
    """A model as weights (in, out) and biases (out,), layer by layer."""

    weights: list[FloatArray]
    biases: list[FloatArray]
    activation: str
    steps: list[Any]
    classes: AnyArray

    @property
    def size(self) -> int:
        """How many weights and biases there are."""
        return int(sum(w.size + b.size for w, b in zip(self.weights, self.biases, strict=True)))

    @property
    def width(self) -> int:
        """How many floats the widest layer holds for a point."""
        return int(max(max(w.shape) for w in self.weights)) + len(self.classes) ** 2

    def check(self, points: AnyArray, target: Any) -> tuple[FloatArray, BoolArray]:
        """Give what the weights see of points, behind the model's own transformers; say which classes each accepts."""
        table: Any = points
        for step in self.steps:
            if step is not None and step != "passthrough":
                table = step.transform(table)
        raw = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)
        d = len(self.weights[0])
        if raw.ndim != 2 or raw.shape[1] != d or not np.isfinite(raw).all():
            raise InvalidInput(f"`points` must be a table of finite numbers with {d} columns; got shape {raw.shape}.")
        return raw, accepted(target, self.classes, len(raw))


def _read(model: Any) -> _Layers:
    core, steps, threshold = unwrap(model)
    bare = [Peeled(core)]
    turn = Peeled(core, threshold=threshold).turn
    if turn is not None and hasattr(core, "classes_"):
        if (kernel := linear.stack(bare)) is not None:
            weights, biases = [kernel.weights[0].T], [kernel.intercepts[0] - turn]
            return _Layers(weights, biases, "identity", steps, core.classes_)
        if (network := networks.stack(bare)) is not None:
            (stack,) = network.stacks
            weights = [layer[0].astype(np.float64) for layer in stack.weights]
            biases = [layer[0, 0].astype(np.float64) for layer in stack.biases]
            biases[-1] = biases[-1] - turn
            return _Layers(weights, biases, stack.activation, steps, core.classes_)
    raise InvalidInput(
        "`model` must be a fitted linear model, MLPClassifier or betarce.Network, alone or behind the transformers "
        f"of a pipeline; got {type(model).__name__} around {type(core).__name__}. Shifts of other models' weights are "
        "not defined; retrain them instead (betarce.BetaRCE.audit)."
    )


def _lower_margin(layers: _Layers, inputs: FloatArray, wanted: BoolArray, radius: float, norm: ShiftNorm) -> FloatArray:
    low = high = inputs
    positive = False
    for weights, biases in zip(layers.weights[:-1], layers.biases[:-1], strict=True):
        low, high = _through(low, high, weights, biases, radius, norm, positive)
        low, high = _activated(low, layers.activation), _activated(high, layers.activation)
        positive = layers.activation in ("relu", "logistic")
    weights, biases = layers.weights[-1], layers.biases[-1]
    if len(biases) == 1:
        low, high = _through(low, high, weights, biases, radius, norm, positive)
        return np.where(wanted[:, 1], low[:, 0], -high[:, 0])
    # The lead of each class over each other, as a layer of its own: two shifts add up.
    c = len(biases)
    leads = (weights[:, :, None] - weights[:, None, :]).reshape(len(weights), c * c)
    gaps = (biases[:, None] - biases[None, :]).reshape(c * c)
    both = radius * (2 if norm == "inf" else np.sqrt(2))
    lead = _through(low, high, leads, gaps, both, norm, positive)[0].reshape(-1, c, c)
    worst = np.where(wanted[:, None, :], np.inf, lead).min(axis=2)
    return np.asarray(np.where(wanted, worst, -np.inf).max(axis=1))


def _through(
    low: FloatArray,
    high: FloatArray,
    weights: FloatArray,
    biases: FloatArray,
    radius: float,
    norm: ShiftNorm,
    positive: bool,
) -> tuple[FloatArray, FloatArray]:
    """Carry intervals, which may be known to hold no negative number, through one layer whose weights may shift."""
    if norm == "inf" and positive:
        down, up = weights - radius, weights + radius
        least = low @ np.maximum(down, 0) + high @ np.minimum(down, 0) + (biases - radius)
        most = high @ np.maximum(up, 0) + low @ np.minimum(up, 0) + (biases + radius)
        return least, most
    middle, reach = (low + high) / 2, (high - low) / 2
    far = np.maximum(np.abs(low), np.abs(high))
    size = far.sum(axis=1) + 1 if norm == "inf" else np.sqrt(np.square(far).sum(axis=1) + 1)
    center = middle @ weights + biases
    spread = reach @ np.abs(weights) + radius * size[:, None]
    return center - spread, center + spread


def _shifted_margins(layers: _Layers, inputs: FloatArray, wanted: BoolArray, shifts: FloatArray) -> FloatArray:
    """Give the margin of each point under each shift, shape (shifts, n)."""
    values: FloatArray = inputs[None]
    place = 0
    for depth, (weights, biases) in enumerate(zip(layers.weights, layers.biases, strict=True), start=1):
        stop = place + weights.size
        moved = weights + shifts[:, place:stop].reshape(-1, *weights.shape)
        place = stop + biases.size
        values = np.matmul(values, moved) + (biases + shifts[:, None, stop:place])
        if depth < len(layers.weights):
            values = _activated(values, layers.activation)
    if values.shape[2] == 1:
        return np.where(wanted[:, 1], values[..., 0], -values[..., 0])
    return margins_from_scores(values, wanted)


def _unit_shifts(rng: np.random.Generator, n: int, size: int, norm: ShiftNorm) -> FloatArray:
    """Draw shifts uniformly from the box or the ball of radius 1, shape (n, size)."""
    if norm == "inf":
        return rng.uniform(-1, 1, (n, size))
    draws = rng.standard_normal((n, size + 2))
    # The first `size` of size + 2 coordinates of a uniform point on a sphere are uniform in the ball.
    return np.asarray(draws[:, :size] / np.linalg.norm(draws, axis=1, keepdims=True))


def _activated(values: FloatArray, activation: str) -> FloatArray:
    match activation:
        case "relu":
            return np.maximum(values, 0)
        case "tanh":
            return np.asarray(np.tanh(values))
        case "logistic":
            return np.asarray(expit(values))
    return values


def _check_radius(radius: Any, norm: Any) -> None:
    if isinstance(radius, bool) or not isinstance(radius, (int, float)) or not 0 <= radius < np.inf:
        raise InvalidInput(f"`radius` must be a number >= 0; got {radius!r}.")
    if norm not in ("inf", "l2"):
        raise InvalidInput(f"`norm` must be 'inf' or 'l2'; got {norm!r}.")


def _chunks(n: int, width: int) -> Iterator[slice]:
    size = max(1, _CHUNK // max(1, width))
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))
