"""Members of the paper's families, trained once and kept."""

import warnings
from typing import Any

import numpy as np

from betarce.drawing import draw_members
from betarce.errors import MemberWarning
from betarce.evaluate.store import Store, fingerprint_of
from betarce.models.recipe import Recipe, Table
from betarce.models.stored import pack, unpack
from betarce.spaces import Space

_SAID = "said"


def kept_members(
    store: Store, space: Space, recipe: Recipe, table: Table, role: str, n: int, *, seed: int
) -> list[object]:
    """Give `n` members for a role, as `draw_members` would train them on one worker; from the store if they are there.

    What was said about their training is said again.
    """
    estimator: Any = recipe.estimator
    definition = {
        "what": "members",
        "kind": type(estimator).__name__,
        "parameters": repr(sorted(estimator.get_params().items(), key=lambda item: item[0])),
        "space": repr(space),
        "rows": fingerprint_of(np.asarray(table.X), np.asarray(table.y)),
        "role": role,
        "n": n,
        "seed": seed,
    }
    arrays = store.read(definition)
    if arrays is not None:
        for text in arrays.pop(_SAID):
            warnings.warn(str(text), MemberWarning)
        return unpack(arrays)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MemberWarning)
        models = draw_members(space, recipe, table, {role: n}, seed=seed, verbose=-1)[role].models
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    said = [str(each.message) for each in caught if issubclass(each.category, MemberWarning)]
    store.write(definition, {**pack(models), _SAID: np.array(said, dtype=np.str_)})
    return models
