"""One implementation under check on one case: every failure names both, and says which promise was broken."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import BoolArray, IntArray
from betarce.errors import ContractBroken

Parts = Mapping[str, Any]
"""What an implementation says of some rows: by name, arrays or lists with one entry per row."""


@dataclass(frozen=True)
class Contract:
    """Checks that all contracts share.

    Attributes
    ----------
    who : str
        The implementation.
    where : str
        The case.
    """

    who: str
    where: str

    def require(self, holds: object, message: str) -> None:
        """Raise unless something holds."""
        if not holds:
            raise ContractBroken(f"{self.who} on {self.where}: {message}")

    def same(self, one: Any, other: Any, message: str) -> None:
        """Require that two values are the same to the bit."""
        self.require(same_bits(one, other), message)

    def repeatable(self, run: Callable[[IntArray], Parts], n: int) -> Parts:
        """Require that the same seeds give the same answer, whatever the global generators hold; give the answer."""
        everyone = np.arange(n)
        with luck(1):
            first = run(everyone)
        with luck(2):
            second = run(everyone)
        for name, part in first.items():
            self.same(part, second[name], f"the same seeds gave other {name} the second time.")
        return first

    def company(self, run: Callable[[IntArray], Parts], together: Parts, n: int, alone: Sequence[int]) -> None:
        """Require that no row depends on which others are there, or on their order."""
        order = np.random.default_rng(7).permutation(n)
        shuffled = run(order)
        for name, part in together.items():
            self.same(shuffled[name], _take(part, order), f"{name} of a row depend on the order of the rows.")
        for i in alone:
            single = run(np.array([i]))
            for name, part in together.items():
                self.same(
                    single[name],
                    _take(part, np.array([i])),
                    f"{name} of row {i} depend on which other rows are explained with it.",
                )

    @contextmanager
    def untouched(self, inputs: Mapping[str, Any]) -> Iterator[None]:
        """Require that inputs are the same after as before."""
        before = {name: value.copy() for name, value in inputs.items()}
        yield
        for name, value in inputs.items():
            self.require(same_bits(value, before[name]), f"`{name}` was changed in place.")


def same_bits(one: Any, other: Any) -> bool:
    """Say whether two arrays, tables or lists hold the same values; NaN is the same as NaN.

    Examples
    --------
    >>> same_bits(np.array([1.0, np.nan]), np.array([1.0, np.nan])), same_bits([1, 2], [1, 3])
    (True, False)
    """
    if isinstance(one, (pd.DataFrame, pd.Series)):
        return bool(one.equals(other))
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return False
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


@contextmanager
def luck(seed: int) -> Iterator[None]:
    """Seed the global generators, which nothing may draw from, and give them back as they were."""
    before, before_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - what others may draw from
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(before_numpy)  # noqa: NPY002


def first_of(rows: IntArray, bad: BoolArray) -> int:
    """Give the first row that is bad, to name it; -1 if none is."""
    return int(rows[bad][0]) if bad.any() else -1


def name_of(implementation: object) -> str:
    """Give what an implementation is called."""
    return getattr(implementation, "__name__", type(implementation).__name__)


def _take(part: Any, rows: IntArray) -> Any:
    return [part[i] for i in rows] if isinstance(part, list) else np.asarray(part)[rows]
