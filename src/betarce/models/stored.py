"""Fitted models of the paper's families as plain arrays and back, bit for bit, without pickle."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from betarce.arrays import AnyArray
from betarce.errors import CorruptFile, InvalidInput
from betarce.models.network import Network
from betarce.models.validation import ValidationSplit
from betarce.storage.documents import parse_json
from betarce.storage.values import plain, unplain

Arrays = Mapping[str, AnyArray]
_ABOUT = "about"
_FAULTS = (KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError)


def pack(models: Sequence[object]) -> dict[str, AnyArray]:
    """Write fitted models as arrays: those of the paper's families, alone or in a `ValidationSplit`.

    They must have been trained on arrays: names of columns are not kept.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> [again] = unpack(pack([model]))
    >>> again.predict_proba([[0.3]]) == model.predict_proba([[0.3]])
    array([[ True,  True]])
    """
    about, arrays = [], {}
    for i, model in enumerate(models):
        split = isinstance(model, ValidationSplit)
        core: Any = model.estimator_ if isinstance(model, ValidationSplit) else model
        kind = type(core).__name__
        if kind not in _PARTS:
            raise InvalidInput(f"{kind} cannot be kept as arrays; this can: {', '.join(_PARTS)}.")
        about.append(
            {"kind": kind, "split": _of_split(model) if split else None, "parameters": _plain(core.get_params())}
        )
        arrays.update({f"{i}/{name}": np.asarray(part) for name, part in _PARTS[kind][0](core).items()})
    return {_ABOUT: _from_text(json.dumps(about, allow_nan=False)), **arrays}


def unpack(arrays: Arrays) -> list[object]:
    """Rebuild the models that `pack` wrote; raise CorruptFile for anything else."""
    try:
        about = parse_json(_to_text(arrays[_ABOUT]))
        return [_rebuilt(each, i, arrays) for i, each in enumerate(about)]
    except (*_FAULTS, CorruptFile) as error:
        raise CorruptFile(f"it does not hold models: {type(error).__name__}: {error}") from error


def _rebuilt(about: Mapping[str, Any], i: int, arrays: Arrays) -> object:
    head = f"{i}/"
    parts = {name.removeprefix(head): part for name, part in arrays.items() if name.startswith(head)}
    parameters = {name: unplain(value) for name, value in about["parameters"].items()}
    core = _PARTS[about["kind"]][1](parameters, parts)
    _check_answers(core)
    if about["split"] is None:
        return core
    model = ValidationSplit(type(core)(**parameters), **{name: unplain(v) for name, v in about["split"].items()})
    model.estimator_, model.classes_ = core, core.classes_
    return model


def _check_answers(model: Any) -> None:
    """Refuse parts that do not fit together: let the model answer once."""
    answer = np.asarray(model.predict_proba(np.zeros((1, model.n_features_in_))))
    if answer.shape != (1, len(model.classes_)):
        raise ValueError(f"a model answers {answer.shape} for {len(model.classes_)} classes")


def _of_split(model: Any) -> dict[str, Any]:
    return _plain({name: getattr(model, name) for name in ("validation", "random_state")})


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: plain(value, what=f"the parameter {name!r}") for name, value in parameters.items()}


# Each kind: what it learnt as arrays, and the way back.


def _network_parts(model: Network) -> dict[str, Any]:
    layers = {f"weights{i}": layer for i, layer in enumerate(model.weights_)}
    layers |= {f"biases{i}": layer for i, layer in enumerate(model.biases_)}
    return {
        **layers,
        "classes": model.classes_,
        "validation_losses": model.validation_losses_,
        "best_epoch": model.best_epoch_,
    }


def _network(parameters: Mapping[str, Any], parts: Arrays) -> Network:
    from betarce.models.network_training import Trained

    model = Network(**parameters)
    n_layers = sum(name.startswith("weights") for name in parts)
    weights, biases = ([parts[f"{kind}{i}"] for i in range(n_layers)] for kind in ("weights", "biases"))
    model.n_features_in_ = len(weights[0])
    model._adopt(Trained(weights, biases, parts["validation_losses"], int(parts["best_epoch"])), parts["classes"])
    return model


def _logistic_parts(model: Any) -> dict[str, Any]:
    return {name: getattr(model, f"{name}_") for name in ("coef", "intercept", "classes", "n_iter")}


def _logistic(parameters: Mapping[str, Any], parts: Arrays) -> Any:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(**parameters)
    for name, part in parts.items():
        setattr(model, f"{name}_", part)
    model.n_features_in_ = model.coef_.shape[1]
    return model


def _lightgbm_parts(model: Any) -> dict[str, Any]:
    return {"trees": _from_text(model.booster_.model_to_string()), "classes": model.classes_}


def _lightgbm(parameters: Mapping[str, Any], parts: Arrays) -> Any:
    from sklearn.preprocessing import LabelEncoder

    from betarce.errors import require

    lightgbm = require("lightgbm", extra="lightgbm", purpose="A kept LightGBM model")
    model = lightgbm.LGBMClassifier(**parameters)
    # LightGBM reads its text into a Booster only; the classifier around it must be put together by hand.
    try:
        model._Booster = lightgbm.Booster(model_str=_to_text(parts["trees"]))
    except lightgbm.basic.LightGBMError as error:
        raise ValueError(str(error)) from error
    model._n_features = model._n_features_in = model._Booster.num_feature()
    model._classes, model._n_classes = parts["classes"], len(parts["classes"])
    model._le = LabelEncoder().fit(parts["classes"])
    model.fitted_ = True
    return model


def _from_text(text: str) -> AnyArray:
    return np.frombuffer(text.encode("utf-8"), dtype=np.uint8)


def _to_text(array: AnyArray) -> str:
    return array.tobytes().decode("utf-8")


_PARTS: Mapping[str, tuple[Any, Any]] = {
    "Network": (_network_parts, _network),
    "LogisticRegression": (_logistic_parts, _logistic),
    "LGBMClassifier": (_lightgbm_parts, _lightgbm),
}
