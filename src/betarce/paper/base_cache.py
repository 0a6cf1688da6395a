"""A base method whose answers are cached, so that it explains each row once."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from betarce.arrays import AnyArray, FloatArray
from betarce.errors import CorruptFile
from betarce.explainers import Explained, Explainer, Problem
from betarce.features import Box
from betarce.seeding import derive


class _Answer(NamedTuple):
    point: FloatArray
    found: bool
    reason: str
    n_evaluations: int
    seconds: float


@dataclass(frozen=True, eq=False)
class CachedBase:
    """An explainer that keeps its answers, so that all methods that start from it start from the same points.

    A row's seed comes from the row itself, not from who asks: the answer is the same in any order.

    Parameters
    ----------
    explainer : explainer
        What is asked.
    seed : int
        Where the seeds of the rows come from.
    """

    explainer: Explainer
    seed: int
    _answers: dict[bytes, _Answer] = field(default_factory=dict, repr=False)

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Give the answers for these rows; the explainer is asked about the new ones among them."""
        keys = _keys(originals, targets)
        new = np.array([i for i, key in enumerate(keys) if key not in self._answers], dtype=np.intp)
        if new.size:
            started = time.perf_counter()
            own = [derive(self.seed, keys[i]) for i in new]
            found = self.explainer.explain(originals[new], targets[new], problem, box.take(new), own)
            seconds = (time.perf_counter() - started) / len(new)
            for j, i in enumerate(new):
                self._answers[keys[i]] = _Answer(
                    found.points[j], bool(found.found[j]), found.reasons[j], int(found.n_evaluations[j]), seconds
                )
        known = [self._answers[key] for key in keys]
        return Explained(
            np.array([answer.point for answer in known]),
            np.array([answer.found for answer in known], dtype=bool),
            [answer.reason for answer in known],
            np.array([answer.n_evaluations for answer in known], dtype=np.intp),
        )

    def to_arrays(self) -> dict[str, AnyArray]:
        """Give all answers as arrays."""
        columns = zip(*self._answers.values(), strict=True)
        return {
            "key": _bytes(self._answers),
            **{name: np.array(c) for name, c in zip(_Answer._fields, columns, strict=True)},
        }

    def from_arrays(self, stored: Mapping[str, AnyArray]) -> bool:
        """Take over answers from `to_arrays`; True, or CorruptFile if they are none."""
        columns = {name: stored.get(name, np.empty(0)) for name in ("key", *_Answer._fields)}
        n = len(columns["key"])
        kinds = dict(zip(columns, ("u", "f", "b", "U", "iu", "f"), strict=True))
        shaped = all(
            array.ndim == (2 if name in ("key", "point") else 1) and len(array) == n and array.dtype.kind in kinds[name]
            for name, array in columns.items()
        )
        if not shaped or set(stored) != set(columns) or columns["key"].dtype != np.uint8:
            raise CorruptFile("it does not hold answers")
        values = [columns[name].tolist() for name in _Answer._fields[1:]]
        for key, point, *rest in zip(columns["key"], columns["point"], *values, strict=True):
            self._answers[key.tobytes()] = _Answer(point, *rest)
        return True

    def seconds(self, originals: FloatArray, targets: AnyArray) -> float:
        """Say how long the explainer took for these rows, all of which it has answered."""
        return sum(self._answers[key].seconds for key in _keys(originals, targets))


def _keys(originals: FloatArray, targets: AnyArray) -> list[bytes]:
    # Adding zero makes one zero of both, whose bytes differ.
    return [row.tobytes() + target.tobytes() for row, target in zip(originals + 0.0, targets, strict=True)]


def _bytes(keys: Iterable[bytes]) -> AnyArray:
    return np.array([np.frombuffer(key, dtype=np.uint8) for key in keys])
