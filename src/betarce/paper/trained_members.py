"""Members of the paper's families, from a disk cache or trained."""

import warnings
from typing import Any

import numpy as np

from betarce.arrays import AnyArray
from betarce.errors import CorruptFile, MemberWarning
from betarce.members import Draw, draw_members, origins_of, plan_members
from betarce.models.recipe import Recipe, Table
from betarce.models.stored import pack, unpack
from betarce.paper.disk_cache import DiskCache, fingerprint_of
from betarce.spaces import Space

_SAID = "said"


def cached_members(
    store: DiskCache, space: Space, recipe: Recipe, table: Table, role: str, n: int, *, seed: int
) -> Draw:
    """Give `n` members for a role, as `draw_members` would train them on one worker; from the cache if they are there.

    Warnings of their training are given again.
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
    cached = store.read(definition, lambda arrays: _decoded(arrays, n))
    if cached is not None:
        said, models = cached
        for text in said:
            warnings.warn(text, MemberWarning)
        return Draw(models, origins_of(plan_members(space, recipe, table, role, n, seed=seed)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MemberWarning)
        drawn = draw_members(space, recipe, table, {role: n}, seed=seed, verbose=-1)[role]
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    texts = [str(each.message) for each in caught if issubclass(each.category, MemberWarning)]
    store.write(definition, {**pack(drawn.models), _SAID: np.array(texts, dtype=np.str_)})
    return drawn


def _decoded(arrays: dict[str, AnyArray], n: int) -> tuple[list[str], list[object]]:
    said = arrays.pop(_SAID, None)
    models = unpack(arrays)
    if said is None or said.dtype.kind != "U" or said.ndim != 1 or len(models) != n:
        raise CorruptFile("it does not hold these members")
    return said.tolist(), models
