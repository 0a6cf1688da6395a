"""Explainers by name."""

from collections.abc import Callable
from typing import Any, TypeVar

from betarce.errors import InvalidInput
from betarce.explainers.protocol import Explainer, FromCallable

EXPLAINERS: dict[str, Callable[[], Explainer]] = {}
"""What `base`, `compare`, plans and the command line accept by name."""

_Kind = TypeVar("_Kind", bound=Callable[[], Explainer])


def register(name: str) -> Callable[[_Kind], _Kind]:
    """Make an explainer known by a name.

    Parameters
    ----------
    name : str
        Not that of another explainer.

    Examples
    --------
    >>> from betarce.explainers import Closest
    >>> @register("nice")
    ... class Mine(Closest):
    ...     pass
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `name` must be new; 'nice' is the explainer Nice.
    """

    def known(kind: _Kind) -> _Kind:
        there = EXPLAINERS.setdefault(name, kind)
        if there is not kind:
            title = getattr(there, "__name__", repr(there))
            raise InvalidInput(f"`name` must be new; {name!r} is the explainer {title}.")
        return kind

    return known


def check_explainer(base: Any) -> Explainer | None:
    """Turn a name, an explainer or a callable into an explainer; None stays None.

    Examples
    --------
    >>> check_explainer("growing-spheres").search.n_candidates
    100
    """
    if base is None:
        return None
    if isinstance(base, str) and base in EXPLAINERS:
        return EXPLAINERS[base]()
    if isinstance(base, Explainer) and not isinstance(base, type):
        return base
    if callable(base) and not isinstance(base, type):
        return FromCallable(base)
    raise InvalidInput(
        f"`base` must be one of {', '.join(map(repr, EXPLAINERS))}, an explainer, a callable (x, model, target) -> "
        f"point, or None; got {base!r}."
    )
