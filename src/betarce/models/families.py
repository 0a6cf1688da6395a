"""The three model families of the paper, with the ranges over which it varies their hyperparameters."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from betarce.errors import InvalidInput, require
from betarce.models.network import Network
from betarce.models.validation import ValidationSplit

Ranges = Mapping[str, Any] | Callable[[np.random.Generator], Mapping[str, Any]]

NETWORK_RANGES: Mapping[str, Any] = {"hidden_layers": (3, 5), "neurons": (64, 256)}
LIGHTGBM_RANGES: Mapping[str, Any] = {
    "num_leaves": (10, 20),
    "n_estimators": (15, 40),
    "min_child_samples": (10, 20),
    "subsample": [0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
}


def logistic_ranges(rng: np.random.Generator) -> dict[str, Any]:
    """Draw the parameters of the paper's logistic regression: solver, iterations, penalty "l2" or "none".

    An infinite C is how scikit-learn spells "no penalty".

    Examples
    --------
    >>> sorted(logistic_ranges(np.random.default_rng(0)))
    ['C', 'max_iter', 'solver']
    """
    penalised = bool(rng.random() < 0.5)
    return {
        "solver": str(rng.choice(["lbfgs", "newton-cg", "sag"])),
        "max_iter": int(rng.integers(50, 201)),
        "C": float(rng.uniform(0.1, 1.0)) if penalised else np.inf,
    }


def paper_model(family: str) -> Any:
    """Make an unfitted model of the paper.

    Parameters
    ----------
    family : {"network", "lightgbm", "logistic"}
        All three hold out a random 20 % of their rows for validation.

    Returns
    -------
    classifier
        Not fitted.

    Examples
    --------
    >>> from betarce.models import paper_model
    >>> paper_model("logistic").estimator
    LogisticRegression()
    """
    if family not in _MAKERS:
        raise InvalidInput(f"`family` must be one of {', '.join(map(repr, _MAKERS))}; got {family!r}.")
    return _MAKERS[family]()


def paper_ranges(model: object) -> Ranges | None:
    """Give the ranges over which the paper varies a model of this kind.

    Parameters
    ----------
    model : classifier
        Fitted or not.

    Returns
    -------
    mapping, callable or None
        In the form that `betarce.Architecture` takes; None if the paper has no such model.

    Examples
    --------
    >>> from betarce.models import Network, paper_ranges
    >>> paper_ranges(Network())
    {'hidden_layers': (3, 5), 'neurons': (64, 256)}
    """
    if isinstance(model, ValidationSplit):
        inner = paper_ranges(model.estimator)
        return None if inner is None else _nest(inner)
    return _RANGES.get(type(model).__name__)


def draw_parameter(name: str, values: Any, rng: np.random.Generator) -> Any:
    """Draw one parameter from its range.

    Examples
    --------
    >>> draw_parameter("max_depth", [3], np.random.default_rng(0))
    3
    """
    if hasattr(values, "rvs"):
        return values.rvs(random_state=int(rng.integers(2**31)))
    if isinstance(values, (list, range)) and len(values):
        return values[rng.integers(len(values))]
    match values:
        case (int() as low, int() as high) if low <= high:
            return int(rng.integers(low, high + 1))
        case (int() | float() as low, int() | float() as high) if low <= high:
            return float(rng.uniform(low, high))
    raise InvalidInput(
        f"`ranges[{name!r}]` must be (low, high), a list to choose from, or a distribution with `rvs`; got {values!r}."
    )


def _nest(ranges: Ranges) -> Ranges:
    """Name the parameters of the estimator inside a `ValidationSplit`."""
    if callable(ranges):
        return lambda rng: {f"estimator__{name}": value for name, value in ranges(rng).items()}
    return {f"estimator__{name}": value for name, value in ranges.items()}


def _lightgbm() -> ValidationSplit:
    lightgbm = require("lightgbm", extra="lightgbm", purpose="The paper's LightGBM model")
    model = lightgbm.LGBMClassifier(
        num_leaves=15,
        n_estimators=30,
        min_child_samples=20,
        subsample=0.8,
        # Without a frequency LightGBM ignores `subsample`, and every seed would give the same trees.
        subsample_freq=1,
        objective="binary",
        verbosity=-1,
    )
    return ValidationSplit(model)


def _logistic() -> ValidationSplit:
    from sklearn.linear_model import LogisticRegression

    return ValidationSplit(LogisticRegression(solver="lbfgs", C=1.0, max_iter=100))


_MAKERS: Mapping[str, Callable[[], Any]] = {"network": Network, "lightgbm": _lightgbm, "logistic": _logistic}
FAMILIES = tuple(_MAKERS)
"""The names of the families."""
_RANGES: Mapping[str, Ranges] = {
    "Network": NETWORK_RANGES,
    "LGBMClassifier": LIGHTGBM_RANGES,
    "LogisticRegression": logistic_ranges,
}
