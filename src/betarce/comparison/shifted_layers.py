"""Layers whose weights shift: bounds for all shifts up to a radius, and margins under given ones."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from betarce.arrays import AnyArray, BoolArray, FloatArray
from betarce.ensemble import linear, networks
from betarce.ensemble.generic import margins_from_scores
from betarce.ensemble.preprocessing.unwrap import UnwrappedModel, strip_wrappers
from betarce.errors import InvalidInput
from betarce.targets import accepted

ShiftNorm = Literal["inf", "l2"]


@dataclass(frozen=True, eq=False)
class Layers:
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
        try:
            raw = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"`points` must be a table of finite numbers; {error}.") from error
        d = len(self.weights[0])
        if raw.ndim != 2 or raw.shape[1] != d or not np.isfinite(raw).all():
            raise InvalidInput(f"`points` must be a table of finite numbers with {d} columns; got shape {raw.shape}.")
        return raw, accepted(target, self.classes, len(raw))


def read_layers(model: Any) -> Layers:
    """Read the layers of a linear model or a network, alone or behind the transformers of a pipeline."""
    core, steps, threshold = strip_wrappers(model)
    bare = [UnwrappedModel(core)]
    turn = UnwrappedModel(core, threshold=threshold).score_threshold
    if turn is not None and hasattr(core, "classes_"):
        if (kernel := linear.stack(bare)) is not None:
            weights, biases = [kernel.weights[0].T], [kernel.intercepts[0] - turn]
            return Layers(weights, biases, "identity", steps, core.classes_)
        if (network := networks.stack(bare)) is not None:
            (stack,) = network.stacks
            weights = [layer[0].astype(np.float64) for layer in stack.weights]
            biases = [layer[0, 0].astype(np.float64) for layer in stack.biases]
            biases[-1] = biases[-1] - turn
            return Layers(weights, biases, stack.activation, steps, core.classes_)
    raise InvalidInput(
        "`model` must be a fitted linear model, MLPClassifier or betarce.Network, alone or behind the transformers "
        f"of a pipeline; got {type(model).__name__} around {type(core).__name__}. Shifts of other models' weights are "
        "not defined; retrain them instead (betarce.BetaRCE.audit)."
    )


def lower_margin(layers: Layers, inputs: FloatArray, wanted: BoolArray, radius: float, norm: ShiftNorm) -> FloatArray:
    """Bound the margin of each point from below under every shift up to a radius, shape (n,)."""
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


def shifted_margins(layers: Layers, inputs: FloatArray, wanted: BoolArray, shifts: FloatArray) -> FloatArray:
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


def unit_shifts(rng: np.random.Generator, n: int, size: int, norm: ShiftNorm) -> FloatArray:
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
