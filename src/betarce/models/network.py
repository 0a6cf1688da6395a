"""The neural network of the paper, as a scikit-learn classifier."""

import math
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from betarce.arrays import AnyArray, FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.models.network_training import Settings, Trained, make_task, train_tasks
from betarce.seeding import check_seed

_CAUTION = 4.0
_LIPSCHITZ = {"relu": 1.0, "identity": 1.0, "tanh": 1.0, "logistic": 0.25}


class Network(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """The paper's network: ReLU layers with dropout, trained by Adam with early stopping.

    Parameters
    ----------
    hidden_layers, neurons : int
        Number of hidden layers, and of units in each.
    dropout : float
        Share of hidden units dropped in each training step.
    learning_rate : float
        Step size of Adam.
    batch_size : int
        Rows per step; the last batch of an epoch may hold fewer.
    max_epochs : int
        Maximum number of passes over the training rows.
    patience : int
        Training stops after so many epochs without a lower validation loss.
    validation : float
        Share of the rows held out for early stopping, drawn at random. With 0 all epochs are run.
    random_state : None, int or numpy generator
        Seed of the split, the first weights, the order of rows and the dropout.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    weights_, biases_ : list of float32 arrays
        Per layer, shapes (in, out) and (out,). All that prediction needs.
    validation_losses_ : array of shape (n_epochs,)
        Mean cross-entropy on the validation rows after each epoch; NaN without such rows.
    best_epoch_ : int
        The epoch, from 1, whose weights are used.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if `fit` was given a DataFrame.

    Notes
    -----
    Points are read as float32 and evaluated in float32; where this leaves the label open, in float64. So the label
    of a row does not depend on the rows that come with it, as it otherwise may in the last bits of a matrix product.

    Examples
    --------
    >>> import numpy as np
    >>> from betarce import Network
    >>> X = np.linspace(0, 1, 80).reshape(-1, 1)
    >>> network = Network(neurons=16, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> network.predict([[0.1], [0.9]])
    array([False,  True])
    >>> [weights.shape for weights in network.weights_]
    [(1, 16), (16, 16), (16, 16), (16, 1)]
    """

    n_features_in_: int
    feature_names_in_: AnyArray

    def __init__(
        self,
        *,
        hidden_layers: int = 3,
        neurons: int = 128,
        dropout: float = 0.4,
        learning_rate: float = 1e-3,
        batch_size: int = 128,
        max_epochs: int = 100,
        patience: int = 5,
        validation: float = 0.2,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.hidden_layers = hidden_layers
        self.neurons = neurons
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation = validation
        self.random_state = random_state

    def fit(self, X: object, y: object) -> Self:
        """Train on points of shape (n, d) and their labels.

        To train many networks, `betarce.models.network.train_networks` is faster, with the same result.
        """
        train_networks([self], X, y, [None])
        return self

    def decision_function(self, X: object) -> FloatArray:
        """Give log-odds of `classes_[1]`, shape (n,); for more than two classes logits, shape (n, classes)."""
        check_is_fitted(self, "weights_")
        inputs = validate_data(self, X, dtype=np.float32, reset=False)
        logits = _forward(inputs, self.weights_, self.biases_).astype(np.float64)
        slope, offset = self.rounding_
        close = _leads(logits) <= 2 * (slope * np.linalg.norm(inputs, axis=1) + offset)
        if close.any():
            exact = [[layer.astype(np.float64) for layer in part] for part in (self.weights_, self.biases_)]
            logits[close] = _forward(inputs[close].astype(np.float64), *exact)
        return logits[:, 0] if logits.shape[1] == 1 else logits

    def predict(self, X: object) -> AnyArray:
        """Give the label of each point: `classes_[1]` where its log-odds are above 0, or the class of highest logit."""
        scores = self.decision_function(X)
        codes = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        labels: AnyArray = self.classes_[codes.astype(np.intp)]
        return labels

    def predict_proba(self, X: object) -> FloatArray:
        """Give the probability of each class, shape (n, classes)."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        probabilities: FloatArray = softmax(scores, axis=1)
        return probabilities

    def _settings(self) -> tuple[Settings, int]:
        names = Settings.__dataclass_fields__
        return Settings(**{name: getattr(self, name) for name in names}), check_seed(self.random_state)

    def _take_columns(self, X: object, y: object) -> tuple[AnyArray, AnyArray]:
        """Check a training table; set the attributes that describe its columns."""
        inputs, labels = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(labels)
        return inputs, labels

    def _copy_columns(self, other: "Network") -> None:
        self.n_features_in_ = other.n_features_in_
        if hasattr(other, "feature_names_in_"):
            self.feature_names_in_ = other.feature_names_in_
        else:
            self.__dict__.pop("feature_names_in_", None)


def train_networks(
    estimators: Sequence[Network],
    X: object,
    y: object,
    rows: Sequence[IntArray | None],
    *,
    progress: Callable[[int], None] | None = None,
) -> list[Network]:
    """Fit many networks on rows of one table, several at a time.

    Each network is a function of its own parameters, its own `random_state` and its own rows: to the bit the same
    as `estimator.fit(X[rows], y[rows])`.

    Parameters
    ----------
    estimators : sequence of Network
        Fitted in place. Those that differ in shape or in number of rows train one group after the other.
    X : array-like of shape (n, d)
        The table that all networks share.
    y : array-like of shape (n,)
        Its labels.
    rows : sequence of int arrays or None
        For each estimator the rows that it sees, repeats allowed; None for all rows.
    progress : callable, optional
        Called with the number of networks that have just finished.

    Returns
    -------
    list of Network
        The estimators, fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from betarce.models.network import Network
    >>> X = np.linspace(0, 1, 200).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "yes", "no")
    >>> networks = [Network(neurons=64, random_state=seed) for seed in range(3)]
    >>> trained = train_networks(networks, X, y, [None, None, np.arange(50, 150)])
    >>> [str(network.predict([[0.9]])[0]) for network in trained]
    ['yes', 'yes', 'yes']
    """
    estimators = list(estimators)
    if len(rows) != len(estimators):
        raise InvalidInput(f"`rows` must have one entry per estimator ({len(estimators)}); got {len(rows)}.")
    if len({id(estimator) for estimator in estimators}) < len(estimators):
        raise InvalidInput(
            "`estimators` must be distinct objects; got one of them twice. Pass clones with seeds of their own."
        )
    if not estimators:
        return []
    inputs, labels = estimators[0]._take_columns(X, y)
    for estimator in estimators[1:]:
        estimator._copy_columns(estimators[0])
    tasks = [
        make_task(*estimator._settings(), labels, chosen) for estimator, chosen in zip(estimators, rows, strict=True)
    ]
    results = train_tasks([task for task, _ in tasks], inputs, progress=progress)
    for estimator, (_, classes), trained in zip(estimators, tasks, results, strict=True):
        set_weights(estimator, trained, classes)
    return estimators


def set_weights(network: Network, trained: Trained, classes: AnyArray) -> Network:
    """Make a network fitted, with weights that were trained before or elsewhere.

    Parameters
    ----------
    network : Network
        Changed in place.
    trained : Trained
    classes : array, sorted

    Examples
    --------
    >>> one_layer = Trained([np.ones((1, 1), np.float32)], [np.zeros(1, np.float32)], np.empty(0), 0)
    >>> set_weights(Network(), one_layer, np.array(["no", "yes"])).predict([[-1.0], [1.0]])
    array(['no', 'yes'], dtype='<U3')
    """
    network.classes_ = classes
    network.n_features_in_ = len(trained.weights[0])
    network.weights_, network.biases_ = trained.weights, trained.biases
    network.validation_losses_, network.best_epoch_ = trained.validation_losses, trained.best_epoch
    network.rounding_ = rounding(trained.weights, trained.biases)
    return network


def rounding(
    weights: Sequence[FloatArray], biases: Sequence[FloatArray], activation: str = "relu"
) -> tuple[float, float]:
    """Bound the rounding error of a network's outputs by `slope * norm(x) + offset`.

    Parameters
    ----------
    weights, biases : sequence of float arrays
        Per layer, shapes (in, out) and (out,). Their precision is the precision bounded.
    activation : {"relu", "identity", "tanh", "logistic"}
        Of the hidden layers.

    Returns
    -------
    slope, offset : float

    Notes
    -----
    Rounding errors of different units are independent, or nearly so. A layer `W`, fed with activations `a` that carry
    an error `e`, therefore gives outputs whose error has a norm of about ``max_j |W_j| * |e| + u * |W| * |a|``, where
    ``|W_j|`` is the norm of the weights that leave unit `j` and `u` the unit roundoff; ``|a|`` is bounded layer by
    layer with the spectral norm. All is linear in ``|x|``. The sum is taken four times. That is not a proof, as a
    worst case would be (thousands of times larger, so that many points would be in doubt for nothing); measured, it
    leaves a factor of 5 for shallow networks and of 50 for deep ones.

    Examples
    --------
    >>> slope, offset = rounding([np.eye(2)], [np.zeros(2)])
    >>> 0 < slope < 1e-14, offset
    (True, 0.0)
    """
    unit = float(np.finfo(weights[0].dtype).eps) / 2
    size, error = np.array([1.0, 0.0]), np.zeros(2)  # each (slope, offset)
    for depth, (weight, bias) in enumerate(zip(weights, biases, strict=True), start=1):
        total, most = float(np.linalg.norm(weight)), float(np.linalg.norm(weight, axis=1).max())
        constant = np.array([0.0, float(np.linalg.norm(bias))])
        error = most * error + unit * (total * size + constant)
        size = _stretch(weight) * size + constant
        if depth < len(weights):
            error *= _LIPSCHITZ[activation]
            if activation in ("tanh", "logistic"):
                size = np.array([0.0, np.sqrt(len(bias))])
                error += 4 * unit * size
    slope, offset = _CAUTION * error
    return float(slope), float(offset)


def steepness(weights: Sequence[FloatArray], activation: str = "relu") -> float:
    """Bound how much faster than its input, in norm, the output of a network can change.

    Examples
    --------
    >>> round(steepness([2 * np.ones((1, 1)), np.ones((1, 1))], "logistic"), 6)
    0.5
    """
    stretched = math.prod(_stretch(weight) for weight in weights)
    return stretched * _LIPSCHITZ[activation] ** (len(weights) - 1)


def _stretch(weight: FloatArray) -> float:
    """Bound the spectral norm from above, by at most a sixth too much; an SVD would be slow."""
    power = weight.astype(np.float64)
    power = power.T @ power if power.shape[0] > power.shape[1] else power @ power.T
    scale = float(np.linalg.norm(power))
    if scale == 0:
        return 0.0
    power /= scale
    for _ in range(3):
        power = power @ power
    return float(np.sqrt(scale * np.linalg.norm(power) ** (1 / 8)))


def _forward(X: AnyArray, weights: Sequence[AnyArray], biases: Sequence[AnyArray]) -> AnyArray:
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        X = X @ weight
        X += bias
        np.maximum(X, 0, out=X)
    outputs: AnyArray = X @ weights[-1] + biases[-1]
    return outputs


def _leads(logits: FloatArray) -> FloatArray:
    """Give the lead of each row's winning class, from outputs of shape (n, 1) or (n, classes)."""
    if logits.shape[1] == 1:
        return np.abs(logits[:, 0])
    top = np.partition(logits, -2, axis=1)
    return top[:, -1] - top[:, -2]
