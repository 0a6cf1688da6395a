"""What all benchmarks share: one thread, the best of several runs, one record per figure."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import betarce as brce

N_MEMBERS, N_CANDIDATES = 32, 100
ROUNDS, SECONDS = 3, 0.1


@dataclass(frozen=True)
class Record:
    """One figure, with its goal if it has one.

    Attributes
    ----------
    name : str
        What was measured.
    ours : float
        The figure.
    baseline : float, optional
        What it is held against, in the same unit.
    unit : str
    least : float, optional
        Goal: `ratio` must be at least this.
    most : float, optional
        Goal: `ours` must be below this.
    """

    name: str
    ours: float
    baseline: float | None = None
    unit: str = "s"
    least: float | None = None
    most: float | None = None

    @property
    def ratio(self) -> float | None:
        return None if self.baseline is None else self.baseline / self.ours

    @property
    def goal(self) -> str:
        if self.least is not None:
            return f">= {self.least:g}x"
        return "" if self.most is None else f"< {self.most:g} {self.unit}"

    @property
    def met(self) -> bool | None:
        """Whether the goal was reached; None without one."""
        if self.least is not None:
            return self.ratio is not None and self.ratio >= self.least
        return None if self.most is None else self.ours < self.most


def fastest(*works: Callable[[], object]) -> list[float]:
    """Give the shortest time of each work, in seconds.

    The works take turns, so that a slow moment of the machine meets all of them; short ones are repeated in each turn.
    """
    best = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for place, work in enumerate(works):
            begin = time.perf_counter()
            while True:
                start = time.perf_counter()
                work()
                now = time.perf_counter()
                best[place] = min(best[place], now - start)
                if now - begin > SECONDS:
                    break
    return best


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS and OpenMP libraries that are loaded by now to one thread."""
    with threadpool_limits(1):
        yield


def candidates(X: np.ndarray, n: int) -> np.ndarray:
    """Draw n points between rows of the data, where a search looks."""
    rng = np.random.default_rng(n)
    a, b = X[rng.integers(0, len(X), (2, n))]
    return a + rng.random((n, 1)) * (b - a) + 0.05 * X.std(axis=0) * rng.normal(size=a.shape)


def answering(name: str, members: Sequence[Any], points: np.ndarray, least: float) -> Record:
    """Ask members about points: through `Ensemble.votes`, against one `predict` per member and point."""
    ensemble = brce.Ensemble(members, members[0].classes_)
    target = members[0].classes_[1]
    rows = [points[i : i + 1] for i in range(len(points))]
    ensemble.votes(points, target)  # compiled code is compiled here
    baseline, ours = fastest(
        lambda: [member.predict(row) for row in rows for member in members],
        lambda: ensemble.votes(points, target),
    )
    return Record(f"{len(members)} {name} x {len(points)} points, vs point by point", ours, baseline, least=least)
