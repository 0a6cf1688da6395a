"""Trained members on disk, named by all that defines them, so that cells and later runs share them."""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import betarce
from betarce.arrays import AnyArray
from betarce.drawing import draw_members
from betarce.errors import BetarceWarning, CorruptFile, MemberWarning
from betarce.files import digest, write_whole
from betarce.models.recipe import Recipe, Table
from betarce.models.stored import pack, unpack
from betarce.spaces import Space

_MAGIC = b"betarce members 1\n"
_SAID = "said"
_LIBRARIES = ("numpy", "scikit-learn", "scipy", "lightgbm")


@dataclass(frozen=True)
class MemberCache:
    """Members of the paper's families, trained once and kept.

    A file holds arrays under a digest; nothing in it is ever run. One that is damaged is named in a warning, and its
    members are trained anew.

    Parameters
    ----------
    folder : path or None
        Where they are kept; None keeps nothing.
    """

    folder: str | os.PathLike[str] | None

    def draw(self, space: Space, recipe: Recipe, table: Table, role: str, n: int, *, seed: int) -> list[object]:
        """Give the first `n` members of a role, as `draw_members` would train them, on one worker."""
        if self.folder is None:
            return _trained(space, recipe, table, role, n, seed)[0]
        path = Path(self.folder) / f"{_name(space, recipe, table, role, n, seed)}.members"
        try:
            arrays = _read(path)
            models = unpack(arrays)
            said = [str(text) for text in arrays[_SAID]]
        except FileNotFoundError:
            pass
        except (CorruptFile, KeyError) as error:
            warnings.warn(f"{path} cannot be used: {error}. Its members are trained again.", BetarceWarning)
        else:
            for text in said:
                warnings.warn(text, MemberWarning)
            return models
        models, said = _trained(space, recipe, table, role, n, seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, _sealed({**pack(models), _SAID: np.array(said, dtype=np.str_)}))
        return models


def _trained(
    space: Space, recipe: Recipe, table: Table, role: str, n: int, seed: int
) -> tuple[list[object], list[str]]:
    """Train members, and tell what was said about their training."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MemberWarning)
        draw = draw_members(space, recipe, table, {role: n}, seed=seed, verbose=-1)[role]
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return draw.models, [str(each.message) for each in caught if issubclass(each.category, MemberWarning)]


def _name(space: Space, recipe: Recipe, table: Table, role: str, n: int, seed: int) -> str:
    """Name members by all that they depend on."""
    rows = blake2b(np.asarray(table.X, dtype="<f8").tobytes() + np.asarray(table.y).tobytes(), digest_size=16)
    definition: Mapping[str, Any] = {
        "estimator": repr(sorted(recipe.estimator.get_params().items(), key=lambda item: item[0])),  # type: ignore[attr-defined]
        "kind": type(recipe.estimator).__name__,
        "space": repr(space),
        "rows": rows.hexdigest(),
        "shape": list(np.shape(table.X)),
        "role": role,
        "n": n,
        "seed": seed,
        "versions": {"betarce": betarce.__version__, **{name: _version(name) for name in _LIBRARIES}},
    }
    return digest(definition).partition(":")[2]


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def _sealed(arrays: Mapping[str, AnyArray]) -> bytes:
    body = BytesIO()
    np.savez(body, **arrays)  # type: ignore[arg-type]  # the names are ours, none of them "file"
    return _MAGIC + blake2b(body.getvalue(), digest_size=32).digest() + body.getvalue()


def _read(path: Path) -> dict[str, AnyArray]:
    content = path.read_bytes()
    start = len(_MAGIC) + 32
    body = content[start:]
    if not content.startswith(_MAGIC) or content[len(_MAGIC) : start] != blake2b(body, digest_size=32).digest():
        raise CorruptFile("it is not whole, or not a file of members")
    with np.load(BytesIO(body), allow_pickle=False) as arrays:
        return dict(arrays)
