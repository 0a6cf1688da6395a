"""Evaluate neural networks of one family by stacked matrix products."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit

from betarce.arrays import AnyArray, FloatArray, IntArray
from betarce.ensemble.foreign.sklearn_weights import read_mlp
from betarce.ensemble.kernel import Kind
from betarce.ensemble.preprocessing.design_matrix import Design, FoldedPreprocessing, fold
from betarce.ensemble.preprocessing.unwrapped import UnwrappedModel
from betarce.ensemble.unreadable import Unreadable
from betarce.models.network import Network, rounding, steepness

_ADDED = 8  # members whose slopes are added up in their own precision, before all are in double
CACHE = 1 << 19  # bytes of activations computed at a time: they stay in the cache, and in memory that is at hand
_SIGMOID = 1e-15  # closer to 0 than this, a sigmoid rounds to 0.5 and a softmax to a tie
_UNIT = float(np.finfo(np.float64).eps) / 2


class _Layers(NamedTuple):
    """The layers of one member: all that its scores depend on."""

    weights: list[FloatArray]
    biases: list[FloatArray]
    activation: str
    classes: AnyArray
    rounding: tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Stack:
    """Members of one shape: weights (m, in, out) and biases (m, 1, out), layer by layer."""

    members: IntArray
    weights: list[FloatArray]
    biases: list[FloatArray]
    activation: str

    def parts(self, n: int, low: int, high: int, *, layers: int = 1) -> Iterator[slice]:
        """Split members into those that score `n` points together, with so many layers held at a time.

        The products are one for each member anyway.
        """
        widest = max(weights.shape[2] for weights in self.weights)
        together = max(1, CACHE // max(1, n * widest * self.weights[-1].itemsize * layers))
        for first in range(low, high, together):
            yield slice(first, min(first + together, high))

    def logits(self, X: FloatArray, part: slice) -> FloatArray:
        """Score points with some of the members, shape (m, n, outputs)."""
        return self.forward(X, part)[-1]

    def back(self, layers: list[FloatArray], part: slice, upstream: FloatArray) -> FloatArray:
        """Carry weights of the logits, shape (m, n, outputs), back to the inputs, shape (m, n, d)."""
        carried = upstream.astype(self.weights[-1].dtype)
        for weights, outputs in zip(self.weights[:0:-1], layers[-2::-1], strict=True):
            carried = np.matmul(carried, weights[part].swapaxes(1, 2))
            carried *= _derivative(outputs, self.activation)
        return np.asarray(np.matmul(carried, self.weights[0][part].swapaxes(1, 2)))

    def forward(self, X: FloatArray, part: slice) -> list[FloatArray]:
        """Give the outputs of every layer, after its activation."""
        inputs = X.astype(self.weights[0].dtype, copy=False)
        precision = self.weights[-1].dtype
        layers: list[FloatArray] = []
        for weights, biases in zip(self.weights, self.biases, strict=True):
            outputs = np.matmul(inputs, weights[part])
            outputs += biases[part]
            inputs = outputs.astype(precision, copy=False)
            layers.append(inputs)
            if len(layers) < len(self.weights):
                _activate(inputs, self.activation)
        return layers


@dataclass(frozen=True, eq=False)
class NetworkKernel:
    """Scores of many networks at many points; made by `stack`.

    Its scores are log-odds for two classes, logits for more. Members of different shapes are stacked shape by shape.
    """

    kind: ClassVar[Kind] = "network"

    stacks: list[_Stack]
    n_outputs: int
    growth: FloatArray
    offsets: FloatArray
    steepness: FloatArray
    frame: _Frame | None

    @property
    def width(self) -> int:
        """The widest layer before and after its activation, and each member's share of the design matrix."""
        layers = 2 * max(int(weights.shape[2]) for stack in self.stacks for weights in stack.weights)
        return layers + (0 if self.frame is None else 3 * self.frame.design.width // len(self))

    def __len__(self) -> int:
        """Give the number of members."""
        return len(self.growth)

    def scores(self, X: FloatArray, members: slice) -> FloatArray:
        """Score points of shape (n, d): shape (n, m), or (n, m, classes) for more than two classes."""
        start, stop, step = members.indices(len(self))
        if step != 1:
            return self.scores(X, slice(None))[:, members]
        X = self._inputs(X)
        result = np.empty((len(X), max(stop - start, 0), self.n_outputs))
        for stack in self.stacks:
            low, high = np.searchsorted(stack.members, [start, stop])
            for part in stack.parts(len(X), low, high):
                result[:, _places(stack.members[part] - start)] = stack.logits(X, part).swapaxes(0, 1)
        return result[:, :, 0] if self.n_outputs == 1 else result

    def slopes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Give the gradient of the weighted sum of all scores; see `SlopedKernel.slopes`."""
        return self.linearized(X)[1](weights)

    def linearized(self, X: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Give the scores, and what turns weights of them into slopes; see `LinearizedKernel`."""
        inputs = self._inputs(X)
        scores = np.empty((len(X), len(self), self.n_outputs))
        passed = []
        for stack in self.stacks:
            parts = list(stack.parts(len(X), 0, len(stack.members), layers=len(stack.weights)))
            passed.append([(part, stack.forward(inputs, part)) for part in parts])
            for part, layers in passed[-1]:
                scores[:, _places(stack.members[part])] = layers[-1].swapaxes(0, 1)

        def slopes(weights: FloatArray) -> FloatArray:
            result = np.zeros(inputs.shape)
            for stack, parts in zip(self.stacks, passed, strict=True):
                upstream = weights[:, stack.members].swapaxes(0, 1)
                each = np.concatenate([stack.back(layers, part, upstream[part]) for part, layers in parts])
                for first in range(0, len(each), _ADDED):
                    result += each[first : first + _ADDED].sum(axis=0)
            return result if self.frame is None else self.frame.design.slopes(result, X)

        return scores[:, :, 0] if self.n_outputs == 1 else scores, slopes

    def doubt(self, X: FloatArray, members: slice) -> FloatArray:
        """Bound how far each score may lie from the member's own, shape (n, m)."""
        X = self._inputs(X)
        reach = np.linalg.norm(X, axis=1) if self.frame is None else self.frame.reach(X)
        # Twice: once for the kernel's rounding, once for the member's.
        doubt: FloatArray = 2 * (np.multiply.outer(reach, self.growth[members]) + self.offsets[members]) + _SIGMOID
        if self.frame is not None:
            doubt += np.multiply.outer(self.frame.rounding(X), self.steepness[members])
        return doubt

    def _inputs(self, X: FloatArray) -> FloatArray:
        return X if self.frame is None else self.frame.design.matrix(X)


@dataclass(frozen=True, eq=False)
class _Frame:
    """Bounds on the preprocessed inputs of all members, in size and in rounding.

    The arrays have one number for each design column.
    """

    design: Design
    center: FloatArray
    scale: FloatArray
    slack: FloatArray
    shift: FloatArray
    unit: float  # of the first layer
    rough: float  # of the preprocessing

    def reach(self, inputs: FloatArray) -> FloatArray:
        """Bound the norm of the input, shape (n,)."""
        reach: FloatArray = np.linalg.norm(np.abs(inputs - self.center) * self.scale + self.slack, axis=1)
        return reach

    def rounding(self, inputs: FloatArray) -> FloatArray:
        """Bound how far a member's own preprocessed input lies from the folded one, shape (n,)."""
        rough: FloatArray = np.linalg.norm(np.abs(inputs) * self.scale + self.shift, axis=1)
        return 4 * self.rough * rough + (self.unit * self.reach(inputs) if self.unit > _UNIT else 0.0)


def stack(models: Sequence[UnwrappedModel]) -> NetworkKernel | None:
    """Stack fitted networks into one kernel, or give None if they are not all of one family.

    Parameters
    ----------
    models : sequence of UnwrappedModel
        All `betarce.models.network.Network`, or all scikit-learn `MLPClassifier`; with the same classes and features.
        Their preprocessing is folded into the first layer.

    Returns
    -------
    NetworkKernel or None

    Examples
    --------
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> members = [Network(neurons=8, random_state=seed).fit(X, X[:, 0] > 0.5) for seed in range(3)]
    >>> kernel = stack([UnwrappedModel(member) for member in members])
    >>> kernel.scores(X, slice(0, 2)).shape
    (100, 2)
    >>> alone = np.column_stack([member.decision_function(X) for member in members])
    >>> bool((abs(kernel.scores(X, slice(None)) - alone) <= kernel.doubt(X, slice(None))).all())
    True
    >>> stack([UnwrappedModel(members[0]), UnwrappedModel("another model")]) is None
    True
    """
    read = [_read(model.estimator) for model in models]
    members = [layers for layers in read if layers is not None]
    if not members or len(members) < len(read) or len({type(model.estimator) for model in models}) > 1:
        return None
    first = members[0]
    if any(not np.array_equal(layers.classes, first.classes) for layers in members):
        return None
    growth, offsets = np.array([layers.rounding for layers in members]).T
    steep, frame, folds = np.zeros(len(members)), None, None
    if any(model.preprocessing is not None for model in models):
        found = fold([model.preprocessing for model in models], max(len(layers.weights[0]) for layers in members))
        if found is None:
            raise Unreadable("a scaler that clips, before a network")
        design, folds = found
        steep = np.array([steepness(layers.weights, layers.activation) for layers in members])
        frame = _frame(design, folds, first.weights[0].dtype)
    elif len({len(layers.weights[0]) for layers in members}) > 1:
        return None
    return NetworkKernel(_group(members, folds), first.weights[-1].shape[1], growth, offsets, steep, frame)


def _read(model: Any) -> _Layers | None:
    """Read the layers of a member; None if it is of neither family, or not fitted."""
    # Exact types: a subclass may predict in its own way.
    if type(model) is Network and hasattr(model, "weights_"):
        return _Layers(model.weights_, model.biases_, "relu", model.classes_, model.rounding_)
    read = read_mlp(model)
    if read is None:
        return None
    weights, biases, activation, classes = read
    return _Layers(weights, biases, activation, classes, rounding(weights, biases, activation))


def _group(members: Sequence[_Layers], folds: Sequence[FoldedPreprocessing] | None) -> list[_Stack]:
    """Stack members of one shape and activation."""
    inputs = [(layers.weights[0], layers.biases[0]) for layers in members]
    if folds is not None:
        # In float64 throughout: where a scaler takes the difference of large numbers, float32 would lose it.
        wide = [(weights.astype(np.float64), biases.astype(np.float64)) for weights, biases in inputs]
        inputs = [(each.matrix @ w, b + each.shift @ w) for each, (w, b) in zip(folds, wide, strict=True)]
    groups: dict[object, list[int]] = defaultdict(list)
    for place, layers in enumerate(members):
        shapes = [weights.shape for weights in (inputs[place][0], *layers.weights[1:])]
        groups[(layers.activation, *shapes)].append(place)
    stacks = []
    for places in groups.values():
        weights = [[inputs[i][0], *members[i].weights[1:]] for i in places]
        biases = [[inputs[i][1], *members[i].biases[1:]] for i in places]
        stacks.append(
            _Stack(
                np.array(places),
                [np.stack(each) for each in zip(*weights, strict=True)],
                [np.stack(each)[:, np.newaxis] for each in zip(*biases, strict=True)],
                members[places[0]].activation,
            )
        )
    return stacks


def _frame(design: Design, folds: Sequence[FoldedPreprocessing], precision: np.dtype[Any]) -> _Frame:
    scale = np.max([np.sqrt(each.matrix.power(2).sum(axis=1)) for each in folds], axis=0)
    center, slack, shift = np.zeros((3, design.width))
    n_numbers = len(design.numbers)
    center[:n_numbers] = design.center
    slack[:n_numbers] = np.max([each.slack for each in folds], axis=0)
    shift[:n_numbers] = np.max([each.offset for each in folds], axis=0)
    unit, rough = float(np.finfo(precision).eps) / 2, max(each.unit for each in folds) / 2
    return _Frame(design, center, scale, slack, shift, unit, rough)


def _places(members: IntArray) -> IntArray | slice:
    """Give the places of members as a slice where they follow each other, which is faster to write to."""
    first, last = int(members[0]), int(members[-1])
    return slice(first, last + 1) if last - first == len(members) - 1 else members


def _activate(values: FloatArray, activation: str) -> None:
    match activation:
        case "relu":
            np.maximum(values, 0, out=values)
        case "tanh":
            np.tanh(values, out=values)
        case "logistic":
            expit(values, out=values)


def _derivative(outputs: FloatArray, activation: str) -> FloatArray | float:
    """Give the slope of an activation, from its output."""
    match activation:
        case "relu":
            return (outputs > 0).astype(outputs.dtype)
        case "tanh":
            return 1 - outputs**2
        case "logistic":
            return outputs * (1 - outputs)
    return 1.0
