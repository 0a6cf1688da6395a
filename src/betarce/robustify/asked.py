"""Rows to be answered, in chunks: each has its point, its target and whatever holds for it alone."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from betarce.arrays import BoolArray, FloatArray
from betarce.features import Rules

_CELLS = 4096  # values of a table that are searched for together
_LEAST, _MOST = 16, 256  # rows


@dataclass(frozen=True, eq=False)
class Asked:
    """Rows that can be read, each with all that its answer depends on.

    Attributes
    ----------
    names : Index
        What the rows are called.
    originals : array of shape (n, d)
    targets : array of bool, shape (n, classes)
        The classes that each row accepts.
    there : array of bool, shape (n,)
        Which rows have one of them already.
    bases : (array of shape (n, d), list of str) or None
        Ready-made counterfactuals, and why one could not be read; "" for those that could.
    overrides : list of rules or None
        Rules of single rows.
    """

    names: "pd.Index[Any]"
    originals: FloatArray
    targets: BoolArray
    there: BoolArray
    bases: tuple[FloatArray, list[str]] | None
    overrides: list[Rules | None] | None

    def __len__(self) -> int:
        return len(self.originals)

    def take(self, some: slice) -> "Asked":
        """Pick rows that follow each other."""
        return Asked(
            self.names[some],
            self.originals[some],
            self.targets[some],
            self.there[some],
            None if self.bases is None else (self.bases[0][some], self.bases[1][some]),
            None if self.overrides is None else self.overrides[some],
        )

    def chunks(self) -> "Iterator[Chunk]":
        """Split the rows into chunks whose size depends on the number of columns alone."""
        size = chunk_size(self.originals.shape[1])
        for number, start in enumerate(range(0, len(self), size)):
            yield Chunk(number, self.take(slice(start, start + size)))


@dataclass(frozen=True)
class Chunk:
    """Rows that are answered together, numbered so that they can be put in order again."""

    number: int
    asked: Asked = field(compare=False)


def chunk_size(n_features: int) -> int:
    """Give the number of rows whose search takes a bounded amount of memory.

    Examples
    --------
    >>> [chunk_size(n_features) for n_features in (5, 20, 500)]
    [256, 204, 16]
    """
    return max(_LEAST, min(_MOST, _CELLS // n_features))
