"""Train many networks at once, with the same result as one by one.

Every array has a leading axis, one entry per network: a step of 4 networks costs the same products as 4 steps of one
network, but one round of Python. A stacked `numpy.matmul` is one BLAS call per entry and everything else is element
by element, so no bit of a network depends on the networks that train beside it.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax
from threadpoolctl import ThreadpoolController

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.seeding import derive, generator

Float32 = NDArray[np.float32]

PARAMETERS_TOGETHER = 160_000  # four of the paper's networks; more fall out of the processor's cache
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8  # Adam's usual ones
_NEGLIGIBLE = np.float32(1e-30)


@dataclass(frozen=True)
class Settings:
    """Architecture and training parameters of one network; only networks with equal settings train together."""

    hidden_layers: int
    neurons: int
    dropout: float
    learning_rate: float
    batch_size: int
    max_epochs: int
    patience: int
    validation: float

    def __post_init__(self) -> None:
        for name in ("hidden_layers", "neurons", "batch_size", "max_epochs", "patience"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise InvalidInput(f"`{name}` must be an int >= 1; got {value!r}.")
        for name in ("dropout", "validation"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0 <= float(value) < 1:
                raise InvalidInput(f"`{name}` must be a number in [0, 1); got {value!r}.")
        rate = self.learning_rate
        if not isinstance(rate, Real) or not 0 < float(rate) < np.inf:
            raise InvalidInput(f"`learning_rate` must be a finite number > 0; got {rate!r}.")


class Trained(NamedTuple):
    """The outcome of training: the best weights, and the history of the loss."""

    weights: list[Float32]
    biases: list[Float32]
    validation_losses: FloatArray
    best_epoch: int


@dataclass(frozen=True, eq=False)
class Task:
    """One network to train: its settings, its seed, and its own rows of the shared table."""

    settings: Settings
    seed: int
    train: IntArray
    train_codes: IntArray
    validate: IntArray
    validate_codes: IntArray
    n_classes: int

    def sizes(self, n_features: int) -> tuple[int, ...]:
        """Give the number of units of each layer, from input to output."""
        n_outputs = 1 if self.n_classes == 2 else self.n_classes
        return (n_features, *[int(self.settings.neurons)] * self.settings.hidden_layers, n_outputs)

    def n_parameters(self, n_features: int) -> int:
        """Give the number of weights and biases."""
        return sum((n_in + 1) * n_out for n_in, n_out in pairwise(self.sizes(n_features)))

    @property
    def key(self) -> tuple[Settings, int, int, int]:
        """What tasks must share to train together."""
        return self.settings, self.n_classes, len(self.train), len(self.validate)


def train_tasks(
    tasks: Sequence[Task], inputs: Float32, *, progress: Callable[[int], None] | None = None
) -> list[Trained]:
    """Train networks on rows of one table, several at a time.

    Parameters
    ----------
    tasks : sequence of Task
        Those that differ in shape or in number of rows train one group after the other.
    inputs : array of float32, shape (n, d)
        The table that all networks share.
    progress : callable, optional
        Called with the number of networks that have just finished.

    Returns
    -------
    list of Trained
        In the order of the tasks; each is the same to the bit as if its network were trained alone.
    """
    groups: dict[object, list[int]] = defaultdict(list)
    for place, task in enumerate(tasks):
        groups[task.key].append(place)
    results: dict[int, Trained] = {}
    # One thread: the products are small, parallel work is done outside by joblib, and no bit depends on the machine.
    with _blas().limit(limits=1, user_api="blas"), np.errstate(over="ignore", invalid="ignore"):
        for group in groups.values():
            together = max(1, PARAMETERS_TOGETHER // tasks[group[0]].n_parameters(inputs.shape[1]))
            for start in range(0, len(group), together):
                places = group[start : start + together]
                trained = _train_together([tasks[place] for place in places], inputs, progress)
                results.update(zip(places, trained, strict=True))
    return [results[place] for place in range(len(tasks))]


@cache
def _blas() -> Any:
    return ThreadpoolController()


def make_task(settings: Settings, seed: int, labels: AnyArray, rows: IntArray | None = None) -> tuple[Task, AnyArray]:
    """Split the rows of one network into training and validation rows; also give its classes.

    Parameters
    ----------
    settings : Settings
    seed : int
    labels : array of shape (n,)
        Of the whole table.
    rows : array of int, optional
        The rows that the network sees, repeats allowed; all rows by default.

    Returns
    -------
    task : Task
    classes : array
        The labels among these rows, sorted.
    """
    rows = np.arange(len(labels)) if rows is None else np.asarray(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.size == 0:
        raise InvalidInput(f"`rows` must be None or non-empty 1-D int arrays; got {rows!r}.")
    if rows.min() < 0 or rows.max() >= len(labels):
        raise InvalidInput(f"`rows` must lie in [0, {len(labels)}); got {rows.min()} to {rows.max()}.")
    classes, codes = np.unique(labels[rows], return_inverse=True)
    if len(classes) < 2:
        raise InvalidInput(
            f"`y` must hold at least 2 classes; got only one class, {classes.tolist()[0]!r}. "
            "Check the labels; a bootstrap sample of few rows may need to be stratified."
        )
    train, validate = _split(codes, settings.validation, generator(seed, "network", "split"))
    task = Task(settings, seed, rows[train], codes[train], rows[validate], codes[validate], len(classes))
    return task, classes


def _split(codes: IntArray, share: float, random: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Draw the validation rows, but leave at least one row of each class to train on."""
    order = random.permutation(len(codes))
    _, first = np.unique(codes[order], return_index=True)
    n_validate = min(round(share * len(codes)), len(codes) - len(first))
    order = np.concatenate([order[first], np.delete(order, first)])
    cut = len(codes) - n_validate
    return order[:cut], order[cut:]


def _initial(sizes: Sequence[int], seed: int) -> Float32:
    """Draw the first parameters of one network, flat: uniform in +-1 / sqrt(inputs), as torch does."""
    random = generator(seed, "network", "init")
    drawn = [random.uniform(-1, 1, (n_in + 1) * n_out) / np.sqrt(n_in) for n_in, n_out in pairwise(sizes)]
    return np.concatenate(drawn).astype(np.float32)


def _layers(flat: Float32, sizes: Sequence[int]) -> tuple[list[Float32], list[Float32]]:
    """View flat parameters, shape (m, total), as weights (m, in, out) and biases (m, 1, out)."""
    weights, biases, start = [], [], 0
    for n_in, n_out in pairwise(sizes):
        middle, end = start + n_in * n_out, start + (n_in + 1) * n_out
        weights.append(flat[:, start:middle].reshape(-1, n_in, n_out))
        biases.append(flat[:, middle:end].reshape(-1, 1, n_out))
        start = end
    return weights, biases


def _train_together(tasks: Sequence[Task], inputs: Float32, progress: Callable[[int], None] | None) -> list[Trained]:
    """Train networks of one shape until each has stopped."""
    learner, settings = Learner(tasks, inputs), tasks[0].settings
    results: dict[int, Trained] = {}
    places = np.arange(len(tasks))
    best, best_epochs = learner.parameters.copy(), np.zeros(len(tasks), np.intp)
    losses = np.full((len(tasks), settings.max_epochs + 1), np.inf)  # column 0: before the first epoch
    for epoch in range(1, settings.max_epochs + 1):
        learner.train_epoch()
        losses[:, epoch] = learner.validation_losses()
        better = losses[:, epoch] < losses[np.arange(len(places)), best_epochs]
        better |= learner.tasks[0].validate.size == 0  # nothing to stop on: the last weights are the ones
        best[better], best_epochs[better] = learner.parameters[better], epoch
        stop = (epoch - best_epochs >= settings.patience) | (epoch == settings.max_epochs)
        for i in np.flatnonzero(stop):
            history = losses[i, 1 : epoch + 1].copy()
            results[places[i]] = _trained(best[i], learner.sizes, history, int(best_epochs[i]))
        if stop.any() and progress is not None:
            progress(int(stop.sum()))
        if stop.all():
            break
        if stop.any():
            stay = ~stop
            places, best, best_epochs, losses = places[stay], best[stay], best_epochs[stay], losses[stay]
            learner.keep(stay)
    return [results[place] for place in range(len(tasks))]


def _trained(flat: Float32, sizes: Sequence[int], losses: FloatArray, best_epoch: int) -> Trained:
    if best_epoch == 0 or not np.isfinite(flat).all():
        raise InvalidInput(
            f"The loss must be finite after at least one epoch; got {losses.tolist()!r}. "
            "Scale the columns of `X`, for instance to [0, 1], or lower `learning_rate`."
        )
    weights, biases = _layers(flat[np.newaxis], sizes)
    return Trained([w[0].copy() for w in weights], [b[0, 0].copy() for b in biases], losses, best_epoch)


class Learner:
    """The parameters of networks of one shape, with their gradients and the buffers of a training step."""

    def __init__(self, tasks: Sequence[Task], inputs: Float32) -> None:
        self.tasks, self.inputs = list(tasks), inputs
        self.settings = settings = tasks[0].settings
        self.sizes = tasks[0].sizes(inputs.shape[1])
        self.codebook = np.eye(tasks[0].n_classes, dtype=np.float32)[:, -self.sizes[-1] :]
        self.orders = [generator(task.seed, "network", "order") for task in tasks]
        self.noises = [np.random.SFC64(derive(task.seed, "network", "dropout")) for task in tasks]

        self.parameters = np.stack([_initial(self.sizes, task.seed) for task in tasks])
        self.gradients = np.empty_like(self.parameters)
        self.means = np.zeros_like(self.parameters)
        self.squares = np.zeros_like(self.parameters)
        self.n_steps = 0

        self.batch = min(settings.batch_size, max(len(tasks[0].train), len(tasks[0].validate)))
        shape = (settings.hidden_layers, len(tasks), self.batch, self.sizes[1])
        self.hidden, self.slopes = np.empty(shape, np.float32), np.empty(shape, np.float32)
        self.deltas = np.empty((2, *shape[1:]), np.float32)
        self.active = np.empty(shape[1:], np.bool_)
        self.kept = np.empty((len(tasks), settings.hidden_layers * self.batch * self.sizes[1]), np.bool_)
        self.ones = np.ones((1, 1, self.batch), np.float32)

    def keep(self, stay: BoolArray) -> None:
        """Keep only some of the networks; buffers stay as large as they are."""
        for name in ("parameters", "gradients", "means", "squares"):
            setattr(self, name, getattr(self, name)[stay])
        for name in ("tasks", "orders", "noises"):
            setattr(self, name, [one for one, stays in zip(getattr(self, name), stay, strict=True) if stays])

    def train_epoch(self) -> None:
        """Train each network on its training rows once, in an order of its own."""
        orders = [random.permutation(len(self.tasks[0].train)) for random in self.orders]
        pairs = list(zip(self.tasks, orders, strict=True))
        rows = np.stack([task.train[order] for task, order in pairs])
        codes = np.stack([task.train_codes[order] for task, order in pairs])
        for start in range(0, rows.shape[1], self.batch):
            part = slice(start, start + self.batch)
            self._step(self.inputs[rows[:, part]], self.codebook[codes[:, part]])

    def validation_losses(self) -> FloatArray:
        """Give each network's mean cross-entropy on its validation rows; NaN where there are none."""
        rows = np.stack([task.validate for task in self.tasks])
        codes = np.stack([task.validate_codes for task in self.tasks])
        if rows.shape[1] == 0:
            return np.full(len(rows), np.nan)
        total = np.zeros(len(rows))
        for start in range(0, rows.shape[1], self.batch):
            part = slice(start, start + self.batch)
            targets = self.codebook[codes[:, part]]
            logits = self.forward(self.inputs[rows[:, part]], dropout=0.0)[1].astype(np.float64)
            if logits.shape[2] == 1:
                total += (np.logaddexp(0, logits) - logits * targets).sum(axis=(1, 2))
            else:
                total -= (log_softmax(logits, axis=2) * targets).sum(axis=(1, 2))
        losses: FloatArray = total / rows.shape[1]
        return losses

    def forward(self, X: Float32, dropout: float) -> tuple[list[Float32], Float32]:
        """Give the inputs of all layers and the logits, shapes (m, n, units); the slopes are left for `backward`."""
        m, n, _ = X.shape
        weights, biases = _layers(self.parameters, self.sizes)
        threshold = min(round(dropout * 2**16), 2**16 - 1)
        kept = self._draw_kept(n, threshold) if threshold else None
        scale = np.float32(2**16 / (2**16 - threshold))
        active, layers = self.active[:m, :n], [X]
        for depth in range(self.settings.hidden_layers):
            outputs, slopes = self.hidden[depth, :m, :n], self.slopes[depth, :m, :n]
            np.matmul(layers[-1], weights[depth], out=outputs)
            outputs += biases[depth]
            np.greater(outputs, 0, out=active)
            if kept is not None:
                np.logical_and(active, kept[:, depth], out=active)
            # ReLU, dropout and its scale as one product, which the way back needs again.
            outputs *= np.multiply(active, scale, out=slopes)
            layers.append(outputs)
        return layers, np.matmul(layers[-1], weights[-1]) + biases[-1]

    def _draw_kept(self, n: int, threshold: int) -> BoolArray:
        """Draw which hidden units stay in this step, shape (m, layers, n, neurons): 16 random bits for each."""
        shape = (len(self.noises), self.settings.hidden_layers, n, self.settings.neurons)
        size = shape[1] * shape[2] * shape[3]
        for kept, noise in zip(self.kept, self.noises, strict=False):
            drawn = noise.random_raw(-(-size // 4)).view(np.uint16)[:size]
            np.greater_equal(drawn, np.uint16(threshold), out=kept[:size])
        return self.kept[: shape[0], :size].reshape(shape)

    def _step(self, X: Float32, targets: Float32) -> None:
        self.backward(X, targets)
        self.descend()

    def backward(self, X: Float32, targets: Float32) -> None:
        """Compute the gradients of the loss on rows of shape (m, n, d), with targets of shape (m, n, outputs)."""
        m, n, _ = X.shape
        layers, logits = self.forward(X, self.settings.dropout)
        weights, _ = _layers(self.parameters, self.sizes)
        weight_gradients, bias_gradients = _layers(self.gradients, self.sizes)
        delta = expit(logits) if logits.shape[2] == 1 else softmax(logits, axis=2)
        delta -= targets
        delta *= np.float32(1 / n)
        for depth in reversed(range(len(layers))):
            np.matmul(layers[depth].transpose(0, 2, 1), delta, out=weight_gradients[depth])
            np.matmul(self.ones[:, :, :n], delta, out=bias_gradients[depth])
            if depth > 0:
                before = self.deltas[depth % 2, :m, :n]
                # For a single output the product is an outer one, where BLAS is four times slower.
                multiply = np.multiply if delta.shape[2] == 1 else np.matmul
                multiply(delta, weights[depth].transpose(0, 2, 1), out=before)
                before *= self.slopes[depth - 1, :m, :n]
                delta = before

    def descend(self) -> None:
        """Take one step of Adam, which overwrites the gradients.

        Means and squares are sums without their factor (1 - beta), to save two passes.
        """
        self.n_steps += 1
        size = np.sqrt((1 - _BETA2) / (1 - _BETA2**self.n_steps))
        rate = self.settings.learning_rate * (1 - _BETA1) / (1 - _BETA1**self.n_steps) / size
        work = self.gradients
        self.means *= np.float32(_BETA1)
        self.means += work
        work *= work
        self.squares *= np.float32(_BETA2)
        self.squares += work
        np.sqrt(self.squares, out=work)
        work += np.float32(_EPSILON / size)
        np.divide(self.means, work, out=work)
        work *= np.float32(rate)
        self.parameters -= work
        if self.n_steps % 64 == 0:
            # The mean of a silent unit decays into denormal numbers, which some processors compute very slowly.
            self.means *= np.abs(self.means) > _NEGLIGIBLE
