"""The grounds of a promise: what the explainer is made of, and which libraries were at work."""

import platform
from functools import cache
from typing import Any

import betarce
from betarce.errors import InvalidInput
from betarce.results.result import Result
from betarce.robustify import BetaRCE
from betarce.runs.identity import identity, rules_digest
from betarce.runs.versions import installed

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "lightgbm", "xgboost", "catboost", "torch")


@cache
def versions() -> dict[str, str]:
    """Say which versions of what are installed.

    Examples
    --------
    >>> {"betarce", "numpy", "python"} <= set(versions())
    True
    """
    found = {"betarce": betarce.__version__, "python": platform.python_version()}
    return found | {name: installed(name) for name in _LIBRARIES if installed(name)}


def grounds_of(run: BetaRCE, result: Result) -> dict[str, Any]:
    """Give the digests of what an explainer is made of; refuse one that a result does not come from."""
    if not isinstance(run, BetaRCE):
        raise InvalidInput(f"`run` must be a fitted BetaRCE; got {type(run).__name__}.")
    found = identity(run)
    voters = len(run.members_.voters)
    other = [item.name for item in result if item.certificate is not None and item.certificate.n_models != voters]
    if found.rules != rules_digest(result.features) or other:
        raise InvalidInput("`run` must be the explainer that the result comes from; its rules or its members differ.")
    return found.to_plain()
