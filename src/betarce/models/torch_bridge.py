"""Convert networks from torch, or to torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from betarce.arrays import AnyArray, IntArray
from betarce.errors import InvalidInput, UnusableModel, require
from betarce.models.network import Network, set_weights
from betarce.models.network_training import Float32, Trained

if TYPE_CHECKING:
    import torch

_OTHERWISE = (
    "It may hold Linear layers with a ReLU between any two, Dropout, and a Sigmoid or Softmax at the end. "
    "To use another module as it is, wrap it in an object whose `predict` gives labels."
)


class _Read(NamedTuple):
    """The layers of a module; `dropouts[i]` is the dropout rate before layer i."""

    weights: list[Float32]
    biases: list[Float32]
    dropouts: list[float]


def network_from_torch(
    module: torch.nn.Module, classes: Sequence[object] | AnyArray, *, feature_names: Sequence[str] | None = None
) -> Network:
    """Read a trained torch network into a fitted `Network`, which torch is not needed to use.

    Many networks read this way are evaluated together like any others, for instance in
    ``betarce.Given([network_from_torch(module, classes=[0, 1]) for module in modules])``.

    Parameters
    ----------
    module : torch.nn.Sequential
        Of Linear, ReLU and Dropout layers, with or without a Sigmoid (one output) or Softmax (several) at the end;
        Sequentials in it are fine. In float32, on any device; it is not changed, and no reference to it is held.
    classes : sequence of labels
        In the order of the outputs. For one output: the label below and the label above a probability of one half.
    feature_names : sequence of str, optional
        The columns, in order, if the network is to be asked about DataFrames.

    Returns
    -------
    Network
        With the same weights to the bit, unless there are two outputs or `classes` are not sorted: two outputs become
        one, their difference, and outputs are put in the order of the sorted labels. It predicts as the module does in
        evaluation mode, up to rounding.

    Raises
    ------
    UnusableModel
        If the module holds anything else; the message names the layer.

    Notes
    -----
    `hidden_layers`, `neurons` and `dropout` describe the module. Where a single number cannot, as for layers of
    different width, they hold a tuple: such a network predicts, but cannot be retrained.

    Examples
    --------
    >>> from torch import nn
    >>> module = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Dropout(0.4), nn.Linear(8, 1), nn.Sigmoid())
    >>> network = network_from_torch(module, classes=["no", "yes"])
    >>> network.hidden_layers, network.neurons, network.dropout, network.classes_.tolist()
    (1, 8, 0.4, ['no', 'yes'])
    >>> network.predict_proba([[0.0, 1.0]]).shape
    (1, 2)
    """
    torch = require("torch", extra="torch", purpose="`network_from_torch`")
    weights, biases, dropouts = _read(torch, module)
    labels = _labels(classes, weights[-1].shape[1])
    order = np.argsort(labels)
    weights[-1], biases[-1] = (_for_sorted_classes(part, order) for part in (weights[-1], biases[-1]))
    network = Network(hidden_layers=len(weights) - 1)
    network.set_params(**_built_as(weights, dropouts))
    if feature_names is not None:
        network.feature_names_in_ = _names(feature_names, len(weights[0]))
    return set_weights(network, Trained(weights, biases, np.empty(0), 0), labels[order])


def network_to_torch(network: Network) -> torch.nn.Sequential:
    """Build the torch module of a fitted `Network`, in evaluation mode.

    Parameters
    ----------
    network : Network
        Fitted. Its weights are copied, to the bit.

    Returns
    -------
    torch.nn.Sequential
        Linear, ReLU and Dropout layers. Its output are logits: shape (n, 1) for two classes, else (n, classes).

    Examples
    --------
    >>> X = np.linspace(0, 1, 80).reshape(-1, 1)
    >>> network_to_torch(Network(hidden_layers=1, neurons=16, random_state=0).fit(X, X[:, 0] > 0.5))
    Sequential(
      (0): Linear(in_features=1, out_features=16, bias=True)
      (1): ReLU()
      (2): Dropout(p=0.4, inplace=False)
      (3): Linear(in_features=16, out_features=1, bias=True)
    )
    """
    torch = require("torch", extra="torch", purpose="`network_to_torch`")
    if not isinstance(network, Network):
        raise UnusableModel(f"`network` must be a fitted betarce.Network; got {type(network).__name__}.")
    check_is_fitted(network, "weights_")
    nn = torch.nn
    dropout: Any = network.dropout
    dropouts = dropout if isinstance(dropout, tuple) else (0.0, *[dropout] * (len(network.weights_) - 1))
    layers: list[Any] = []
    for weight, bias, rate in zip(network.weights_, network.biases_, dropouts, strict=True):
        layers += [nn.ReLU()] if layers else []
        layers += [nn.Dropout(rate)] if rate else []
        # Without first weights: to draw them would advance torch's random state.
        linear = nn.utils.skip_init(nn.Linear, *weight.shape)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(weight.T.copy()))
            linear.bias.copy_(torch.from_numpy(bias.copy()))
        layers.append(linear)
    return nn.Sequential(*layers).eval()


def _read(torch: Any, module: object) -> _Read:
    """Read the layers of a module; refuse what `Network` cannot represent."""
    nn = torch.nn
    if not _is_sequential(nn, module):
        raise UnusableModel(f"`module` must be a torch.nn.Sequential; got {type(module).__name__}. {_OTHERWISE}")
    layers = list(_flat(nn, module))
    for where, layer in layers:
        # Exact types: a subclass may compute anything.
        if type(layer) not in (nn.Linear, nn.ReLU, nn.Dropout, nn.Sigmoid, nn.Softmax):
            raise UnusableModel(f"`module` must hold nothing but layers that are known; got {where}. {_OTHERWISE}")
        if layer._forward_hooks or layer._forward_pre_hooks:
            raise UnusableModel(
                f"`module` must have no forward hooks, which may change what it computes; got {where} with one. "
                "Remove it; spectral norm, weight norm and pruning have functions in torch.nn.utils for that."
            )
    core = [(where, layer) for where, layer in layers if type(layer) is not nn.Dropout]
    end = core.pop() if core and type(core[-1][1]) in (nn.Sigmoid, nn.Softmax) else None
    for place, (where, layer) in enumerate(core):
        expected = nn.ReLU if place % 2 else nn.Linear
        if type(layer) is not expected:
            raise UnusableModel(f"`module` must have a {expected.__name__} here; got {where}. {_OTHERWISE}")
    if len(core) % 2 == 0:
        raise UnusableModel(f"`module` must have a Linear as its last layer with weights; got {module}. {_OTHERWISE}")
    linears = [(where, layer) for where, layer in core if type(layer) is nn.Linear]
    _check_fit(nn, linears, end)
    return _Read(
        weights=[_values(torch, layer.weight, where).T.copy() for where, layer in linears],
        biases=[
            np.zeros(layer.out_features, np.float32) if layer.bias is None else _values(torch, layer.bias, where)
            for where, layer in linears
        ],
        dropouts=_dropouts(nn, [layer for _, layer in layers]),
    )


def _is_sequential(nn: Any, module: object) -> bool:
    """Say whether a module runs its layers in order, and does nothing else."""
    return isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward


def _flat(nn: Any, module: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Give all layers in order, each with a description of its place. A layer may come more than once."""
    for place, layer in enumerate(module):
        if _is_sequential(nn, layer):
            yield from _flat(nn, layer, f"{path}{place}.")
        else:
            yield f"{layer} as layer {path}{place}", layer


def _check_fit(nn: Any, linears: Sequence[tuple[str, Any]], end: tuple[str, Any] | None) -> None:
    """Check that the sizes of layers match, and that the last activation suits the number of outputs."""
    for (_, before), (where, layer) in pairwise(linears):
        if layer.in_features != before.out_features:
            raise UnusableModel(
                f"`module` must have layers that fit; got {where}, after {before.out_features} outputs."
            )
    n_outputs = linears[-1][1].out_features
    if end is None:
        return
    where, layer = end
    if type(layer) is nn.Sigmoid and n_outputs > 1:
        raise UnusableModel(
            f"`module` must have one output before a Sigmoid; got {where}, after {n_outputs} outputs. "
            "A model that gives several labels at once is no classifier here."
        )
    if type(layer) is nn.Softmax and (n_outputs == 1 or layer.dim not in (1, -1, None)):
        raise UnusableModel(f"`module` must have a Softmax over 2 or more outputs (dim=1); got {where}.")


def _values(torch: Any, tensor: Any, where: str) -> Float32:
    """Copy finite float32 numbers out of torch."""
    if tensor.dtype != torch.float32:
        raise UnusableModel(f"`module` must be in float32; got {tensor.dtype} in {where}. Pass `module.float()`.")
    values: Float32 = tensor.detach().cpu().numpy().copy()
    if not np.isfinite(values).all():
        raise UnusableModel(f"`module` must have finite weights; got NaN or infinity in {where}. Was its loss finite?")
    return values


def _dropouts(nn: Any, layers: Sequence[Any]) -> list[float]:
    """Give the dropout rate before each Linear layer."""
    rates, rate = [], 0.0
    for layer in layers:
        if type(layer) is nn.Dropout:
            rate = 1 - (1 - rate) * (1 - layer.p) if rate else float(layer.p)
        elif type(layer) is nn.Linear:
            rates.append(rate)
            rate = 0.0
    return rates


def _built_as(weights: Sequence[Float32], dropouts: Sequence[float]) -> dict[str, object]:
    """Describe a module by the parameters of `Network`; by tuples where single numbers cannot."""
    widths = tuple(weight.shape[1] for weight in weights[:-1])
    alike = dropouts[0] == 0 and len(set(dropouts[1:])) <= 1
    built: dict[str, object] = {"dropout": dropouts[-1] if alike else tuple(dropouts)}
    if widths:
        built["neurons"] = widths[0] if len(set(widths)) == 1 else widths
    return built


def _names(feature_names: Sequence[str], n_features: int) -> AnyArray:
    names = np.asarray(feature_names, dtype=object)
    if names.shape != (n_features,) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"`feature_names` must be {n_features} strings, one an input; got {feature_names!r}.")
    return names


def _labels(classes: object, n_outputs: int) -> AnyArray:
    labels, n_classes = np.asarray(classes), max(2, n_outputs)
    if labels.ndim != 1 or len(labels) != n_classes or len(np.unique(labels)) < n_classes:
        raise InvalidInput(
            f"`classes` must be {n_classes} different labels for a module with {n_outputs} "
            f"output{'s' * (n_outputs > 1)}; got {classes!r}."
        )
    return labels


def _for_sorted_classes(part: Float32, order: IntArray) -> Float32:
    """Reorder the weights or biases of the last layer, outputs last, to the order of the sorted classes."""
    if part.shape[-1] == 1:
        return part if order[0] == 0 else -part
    if part.shape[-1] == 2:
        return part[..., order[1:]] - part[..., order[:1]]
    return np.ascontiguousarray(part[..., order])
