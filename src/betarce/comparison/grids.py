"""Which parameters of a method are tried when it is tuned."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from betarce.comparison.forms import FORMS
from betarce.errors import InvalidInput

Grid = Mapping[str, Sequence[Any]]
"""Parameter -> values to try."""

MOST_CONFIGURATIONS = 10_000
"""Most configurations of one method that are tried."""

PAPER_GRIDS: dict[str, Grid] = {
    # The appendix also varies DiCE's diversity weight, which only its gradient method reads.
    "dice": {
        "method": ("genetic",),
        "proximity_weight": (0.05, 0.1, 0.2),
        "sparsity_weight": (0.05, 0.1, 0.2),
    },
    "face": {"fraction": (0.1, 0.3, 0.5), "mode": ("knn", "epsilon")},
    "rbr": {
        "max_distance": (1.0,),
        "n_samples": (100,),
        "delta_plus": (0.0, 0.1, 0.2),
        "epsilon_op": (0.0,),
        "epsilon_pe": (0.0,),
        "sigma": (0.5, 1.0, 1.5),
        "perturb_radius": (0.1, 0.2, 0.3),
    },
    "roar": {"delta_max": (0.01, 0.05, 0.1), "learning_rate": (0.01, 0.05, 0.1), "norm": ("l1", "l2")},
    "robx": {"n_samples": (1000,), "tau": (0.4, 0.5, 0.6, 0.7, 0.8), "variance": (0.1, 0.01)},
}
"""The grids of the paper's appendix."""


def configurations(grid: Grid) -> list[dict[str, Any]]:
    """Give every combination of a grid.

    Examples
    --------
    >>> configurations({"mode": ["knn", "epsilon"], "fraction": [0.1]})
    [{'mode': 'knn', 'fraction': 0.1}, {'mode': 'epsilon', 'fraction': 0.1}]
    """
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def check_grids(grids: str | Mapping[str, Grid] | None, methods: Mapping[str, Any]) -> dict[str, Grid]:
    """Give the grids of the methods that have one."""
    if grids is None:
        return {}
    if isinstance(grids, str):
        if grids != "paper":
            raise InvalidInput(f"`grids` must be 'paper', a mapping of method to grid, or None; got {grids!r}.")
        return {
            name: PAPER_GRIDS[method]
            for name, method in methods.items()
            if isinstance(method, str) and method in PAPER_GRIDS
        }
    if not isinstance(grids, Mapping):
        raise InvalidInput(f"`grids` must be 'paper', a mapping of method to grid, or None; got {grids!r}.")
    unknown = [name for name in grids if name not in methods]
    if unknown:
        raise InvalidInput(f"`grids` names {unknown[0]!r}, which is not compared. Compared: {', '.join(methods)}.")
    ours = [name for name in grids if methods[name] in FORMS]
    if ours:
        raise InvalidInput(f"`grids` names {ours[0]!r}, which has nothing to tune: delta and confidence say it all.")
    return {name: _checked(grid, name) for name, grid in grids.items()}


def _checked(grid: Any, method: str) -> Grid:
    """Refuse what is no grid, or has no end of configurations."""
    lists = grid.values() if isinstance(grid, Mapping) else ()
    right = all(
        isinstance(values, (Sequence, np.ndarray))
        and not isinstance(values, (str, bytes))
        and getattr(values, "ndim", 1)
        for values in lists
    )
    if not lists or not right or not all(isinstance(name, str) for name in grid):
        raise InvalidInput(
            "`grids` must have a list of values for each parameter, such as {'face': {'fraction': [0.1, 0.3]}}; "
            f"got {grid!r} for {method!r}."
        )
    n = math.prod(len(values) for values in lists)
    if not 0 < n <= MOST_CONFIGURATIONS:
        raise InvalidInput(
            f"`grids` must give 1 to {MOST_CONFIGURATIONS:,} configurations for each method; got {n:,} for {method!r}."
        )
    return {name: list(values) for name, values in grid.items()}
