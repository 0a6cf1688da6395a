"""Counterfactual explanations that survive retraining, with a certificate that says how surely.

Names are imported when they are first used, so that ``import betarce`` costs next to nothing. What is not at the top
level is in a namespace: `betarce.rules`, `betarce.spaces`, `betarce.explainers`, `betarce.metrics`, `betarce.datasets`,
`betarce.models`, `betarce.search`, `betarce.posterior`, `betarce.errors`, `betarce.testing`.
"""

from importlib import import_module
from typing import Any

from betarce.exports import HOMES, NAMESPACES

__version__ = "0.1.0"

_HOME_OF = {name: home for home, names in HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, *NAMESPACES])


def __getattr__(name: str) -> Any:
    if name in NAMESPACES:
        return import_module(f"betarce.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'betarce' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
