"""`.safetensors` files: our network, its layers as tensors and the rest as text."""

import json
from typing import Any

import numpy as np

from betarce.errors import CorruptFile, InvalidInput, require
from betarce.features.stored import same_data
from betarce.models.network import Network, rounding
from betarce.storage.documents import parse_json
from betarce.storage.values import plain, unplain

_KIND = "network 1"
_FAULTS = (KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)


def to_safetensors(network: Network) -> bytes:
    """Write a fitted network as the content of a `.safetensors` file, which other tools read too.

    Raises
    ------
    InvalidInput
        If it is no fitted network.
    """
    if type(network) is not Network or not hasattr(network, "weights_"):
        raise InvalidInput(
            f"A .safetensors file holds a fitted betarce.Network; got {type(network).__name__}. Other models go to "
            ".skops files."
        )
    safetensors = require("safetensors.numpy", extra="models", purpose="A .safetensors file")
    layers = {f"weights.{i}": layer for i, layer in enumerate(network.weights_)}
    layers |= {f"biases.{i}": layer for i, layer in enumerate(network.biases_)}
    layers["validation_losses"] = np.asarray(network.validation_losses_)
    tensors = {name: np.ascontiguousarray(layer) for name, layer in layers.items()}
    content: bytes = safetensors.save(tensors, metadata={"betarce": _KIND, "about": json.dumps(_about(network))})
    return content


def _about(network: Network) -> dict[str, Any]:
    """Give what a network is, besides its layers."""
    return {
        "parameters": {name: plain(value, what=f"`{name}`") for name, value in network.get_params().items()},
        "n_layers": len(network.weights_),
        "best_epoch": int(network.best_epoch_),
        "columns": [str(name) for name in getattr(network, "feature_names_in_", [])],
        "classes": [plain(label, what="a class") for label in network.classes_.tolist()],
        "dtype": network.classes_.dtype.str,
    }


def from_safetensors(content: bytes) -> Network:
    """Read the network that `to_safetensors` wrote; raise CorruptFile for anything else."""
    safetensors = require("safetensors", extra="models", purpose="A .safetensors file")
    tensors_of = require("safetensors.numpy", extra="models", purpose="A .safetensors file").load
    try:
        tensors = tensors_of(content)
        metadata = parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")].decode("utf-8"))["__metadata__"]
        if metadata["betarce"] != _KIND:
            raise CorruptFile(f"it holds {metadata['betarce']!r}, which this version of betarce does not know")
        about = parse_json(metadata["about"])
        network = _network(about, tensors)
        if not same_data(_about(network), about):
            raise CorruptFile("it says of its network what the network is not")
        return network
    except (safetensors.SafetensorError, *_FAULTS) as error:
        raise CorruptFile(f"it cannot be read as a network of betarce: {type(error).__name__}: {error}") from error


def _network(about: Any, tensors: Any) -> Network:
    network = Network(**{name: unplain(value) for name, value in about["parameters"].items()})
    n = about["n_layers"]
    network.weights_, network.biases_ = ([tensors[f"{kind}.{i}"] for i in range(n)] for kind in ("weights", "biases"))
    network.validation_losses_, network.best_epoch_ = tensors["validation_losses"], int(about["best_epoch"])
    network.classes_ = np.array([unplain(label) for label in about["classes"]], dtype=np.dtype(about["dtype"]))
    network.n_features_in_ = len(network.weights_[0])
    network.rounding_ = rounding(network.weights_, network.biases_)
    answer = network.predict_proba(np.zeros((1, network.n_features_in_)))
    if answer.shape != (1, len(network.classes_)) or network.classes_.dtype.kind not in "biufUO":
        raise ValueError(f"it answers {answer.shape} for {len(network.classes_)} classes")
    if not (np.diff(np.unique(network.classes_, return_index=True)[1]) == 1).all() or len(
        np.unique(network.classes_)
    ) < len(network.classes_):
        raise ValueError("its classes are not sorted, or not all different")
    if about["columns"] and len(about["columns"]) != network.n_features_in_:
        raise ValueError(f"it names {len(about['columns'])} columns of {network.n_features_in_}")
    if about["columns"]:
        network.feature_names_in_ = np.array(about["columns"], dtype=object)
    return network
