"""The classes, functions or types that a file of models may name: those of libraries that betarce knows.

Nothing else is ever imported because a file says so. Making an object of a known class runs none of its code: it is
made empty, and gets its attributes.
"""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from betarce.errors import CorruptFile, require

_PATH = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.\w+)*):(?P<name>[A-Za-z_]\w*)", re.ASCII)
_HIST = "sklearn.ensemble._hist_gradient_boosting"
_CLASSES = frozenset(
    {
        "betarce.models.network:Network",
        "betarce.models.validation:ValidationSplit",
        "lightgbm.sklearn:LGBMClassifier",
        "xgboost.sklearn:XGBClassifier",
        "xgboost.sklearn:XGBRFClassifier",
        # Parts of scikit-learn's estimators that are no estimators themselves.
        f"{_HIST}.predictor:TreePredictor",
        "sklearn.calibration:_CalibratedClassifier",
        "sklearn.compose._column_transformer:make_column_selector",
        "sklearn.neural_network._stochastic_optimizers:AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers:SGDOptimizer",
        *(
            f"sklearn._loss.loss:{name}"
            for name in ("ExponentialLoss", "HalfBinomialLoss", "HalfMultinomialLoss", "HalfSquaredError")
        ),
        *(
            f"sklearn._loss.link:{name}"
            for name in ("HalfLogitLink", "IdentityLink", "Interval", "LogitLink", "LogLink", "MultinomialLogit")
        ),
    }
)
_FUNCTIONS = frozenset({"betarce.models.tabular:columns_by_number", "sklearn.utils.validation:check_array"})
_BUILTIN_TYPES: Mapping[str, type] = {kind.__name__: kind for kind in (bool, float, int, object, str)}
_EXTRAS = {"lightgbm": "lightgbm", "xgboost": "trees"}


def class_path(kind: type) -> str | None:
    """Give the path under which a class may be stored; None for a class that betarce does not know.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> class_path(LogisticRegression)
    'sklearn.linear_model._logistic:LogisticRegression'
    >>> class_path(Exception) is None
    True
    """
    path = f"{kind.__module__}:{kind.__qualname__}"
    return path if _PATH.fullmatch(path) and _is_known(kind, path) else None


def known_class(path: Any) -> type:
    """Give the class that a file names, or raise CorruptFile if it may not name it."""
    kind = _imported(path, ("betarce", "lightgbm", "sklearn", "xgboost"))
    if not isinstance(kind, type) or not _is_known(kind, path):
        raise CorruptFile(f"it names {path!r}, which no model of betarce's files holds")
    return kind


def function_path(function: Any) -> str | None:
    """Give the path under which a function may be stored; None for one that betarce does not know.

    Examples
    --------
    >>> function_path(np.log1p)
    'numpy:log1p'
    >>> function_path(len) is None
    True
    """
    if isinstance(function, np.ufunc):
        module = "numpy" if getattr(np, function.__name__, None) is function else "scipy.special"
        path = f"{module}:{function.__name__}"
        return path if _imported(path, ("numpy", "scipy")) is function else None
    path = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
    return path if path in _FUNCTIONS else None


def known_function(path: Any) -> Callable[..., Any]:
    """Give the function that a file names, or raise CorruptFile if it may not name it."""
    if path in _FUNCTIONS:
        function: Callable[..., Any] = _imported(path, ("betarce", "sklearn"))
        return function
    module = path.partition(":")[0] if isinstance(path, str) else ""
    found = _imported(path, ("numpy", "scipy")) if module in ("numpy", "scipy.special") else None
    if not isinstance(found, np.ufunc):
        raise CorruptFile(f"it names the function {path!r}, which no model of betarce's files holds")
    return found


def type_name(kind: type) -> str | None:
    """Give the name under which a type that stands for itself may be stored, such as that of numbers."""
    if kind in _BUILTIN_TYPES.values():
        return kind.__name__
    numeric = issubclass(kind, np.generic) and getattr(np, kind.__name__, None) is kind
    return f"numpy:{kind.__name__}" if numeric else None


def known_type(name: Any) -> type:
    """Give the type that a file names, or raise CorruptFile if it may not name it."""
    if isinstance(name, str) and name in _BUILTIN_TYPES:
        return _BUILTIN_TYPES[name]
    found = _imported(name, ("numpy",)) if isinstance(name, str) and name.startswith("numpy:") else None
    if not isinstance(found, type) or not issubclass(found, np.generic):
        raise CorruptFile(f"it names the type {name!r}, which no model of betarce's files holds")
    return found


def _is_known(kind: type, path: str) -> bool:
    estimator = kind.__module__.startswith("sklearn.") and issubclass(kind, BaseEstimator)
    return path in _CLASSES or estimator


def _imported(path: Any, packages: tuple[str, ...]) -> Any:
    """Import what a path names, from these packages alone."""
    parts = _PATH.fullmatch(path) if isinstance(path, str) else None
    package = parts["module"].partition(".")[0] if parts else ""
    if parts is None or package not in packages:
        raise CorruptFile(f"it names {path!r}, which no model of betarce's files holds")
    if package in _EXTRAS:
        require(package, extra=_EXTRAS[package], purpose="A stored model")
    try:
        return getattr(import_module(parts["module"]), parts["name"])
    except (ImportError, AttributeError):
        raise CorruptFile(
            f"it holds a {parts['name']}, which the installed version of {package} does not have"
        ) from None
