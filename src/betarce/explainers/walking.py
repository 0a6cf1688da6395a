"""Walks from a point towards stable training rows, until a stability test is passed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.checks import check_whole, is_one_of
from betarce.errors import InvalidInput
from betarce.explainers.neighbourhood import Criterion, StabilityTest
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import check_explainer
from betarce.features import Box, FeatureSpace

LineSearch = Literal["bisection", "walk"]
Refine = Callable[[FloatArray, IntArray, StabilityTest], tuple[FloatArray, BoolArray]]
"""Starting points of shape (m, d), the row of each, the test -> moved points, and which of them pass."""

_NOISE = 1 << 24  # floats of noise that are held at once: 128 MiB
_DISTANCES = 1 << 22  # floats of differences to training rows that are held at once
_ROUNDS = 8  # times that further training rows are tried where rules spoil the nearest ones


@dataclass(frozen=True)
class Walk:
    """How to go from a base to stable rows.

    Attributes
    ----------
    n_neighbors : int
        Stable training rows walked to.
    step : float
        Share of the way that is left, gone in each step.
    max_steps : int
        Steps; the last one arrives.
    line_search : {"bisection", "walk"}
        "walk" tries every step from the base on; "bisection" goes straight to where the test turns, and differs
        only if it turns more than once on the way.
    """

    n_neighbors: int = 3
    step: float = 0.1
    max_steps: int = 50
    line_search: LineSearch = "bisection"

    def __post_init__(self) -> None:
        for name in ("n_neighbors", "max_steps"):
            check_whole(name, getattr(self, name))
        if not isinstance(self.step, (int, float)) or not 0 < self.step <= 1:
            raise InvalidInput(f"`step` must be a share above 0 and at most 1; got {self.step!r}.")
        if not is_one_of(self.line_search, ("bisection", "walk")):
            raise InvalidInput(f"`line_search` must be 'bisection' or 'walk'; got {self.line_search!r}.")

    @property
    def shares(self) -> FloatArray:
        """The share of the whole way gone after each step, from 0 to 1."""
        return np.append(1 - (1 - self.step) ** np.arange(self.max_steps), 1.0)


def base_points(
    base: Any, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
) -> Explained:
    """Let the base method answer, and move its points to what is allowed; None starts from the originals."""
    explainer = check_explainer(base)
    if explainer is None:
        n = len(originals)
        based = Explained(originals, np.ones(n, dtype=bool), [""] * n, np.zeros(n, dtype=np.intp))
    else:
        based = explainer.explain(originals, targets, problem, box, seeds)
    points = based.points.copy()
    found = np.flatnonzero(based.found)
    points[found] = problem.features.project(points[found], box.take(found))
    return Explained(points, based.found, based.reasons, based.n_evaluations)


def move_until_stable(
    based: Explained,
    originals: FloatArray,
    targets: AnyArray,
    problem: Problem,
    box: Box,
    seeds: Sequence[int],
    *,
    criterion: Criterion,
    walk: Walk,
    refine: Refine | None = None,
) -> Explained:
    """Give the base where it is stable, else the closest stable point met on the way to stable training rows.

    Parameters
    ----------
    based : Explained
        Where to start; rows without a base have no answer either.
    originals, targets, problem, box, seeds
        As in `Explainer.explain`.
    criterion : Criterion
        What is stable.
    walk : Walk
        How to go there.
    refine : callable, optional
        Another way to go, tried first.
    """
    points, found = originals.copy(), np.zeros(len(originals), dtype=bool)
    reasons, spent = list(based.reasons), np.array(based.n_evaluations, dtype=np.intp)
    size = max(1, _NOISE // (criterion.n_samples * originals.shape[1]))
    started = np.flatnonzero(based.found)
    for first in range(0, len(started), size):
        rows = started[first : first + size]
        noise = np.stack([criterion.noise(problem.features, seeds[i]) for i in rows])
        mask = np.asarray(targets[rows], dtype=bool)
        part = _Part(
            originals[rows], mask, box.take(rows), StabilityTest(problem, criterion, mask, noise, box.take(rows)), walk
        )
        moved, passed = part.run(based.points[rows], refine)
        points[rows[passed]], found[rows] = moved[passed], passed
        spent[rows] += part.test.spent
        for row, why in zip(rows, part.why(passed), strict=True):
            reasons[row] = why
    return Explained(points, found, reasons, spent, based.points)


class _Part:
    """Rows that are moved together."""

    def __init__(self, originals: FloatArray, targets: BoolArray, box: Box, test: StabilityTest, walk: Walk) -> None:
        self.originals, self.targets, self.box, self.test, self.walk = originals, targets, box, test, walk
        self.features: FeatureSpace = test.problem.features
        self.lost = np.zeros(len(originals), dtype=bool)  # rows with no stable training row to walk to

    def run(self, starts: FloatArray, refine: Refine | None) -> tuple[FloatArray, BoolArray]:
        points = starts.copy()
        rows = np.arange(len(points))
        found = self.test.passes(points, rows)
        if refine is not None:
            left = np.flatnonzero(~found)
            points[left], found[left] = refine(starts[left], left, self.test)
        for mask in np.unique(self.targets, axis=0):
            left = np.flatnonzero(~found & (self.targets == mask).all(axis=1))
            if left.size:
                ends, usable = self._ends(starts[left], left, mask)
                points[left], found[left] = self._walked(starts[left], left, ends, usable)
        return points, found

    def why(self, passed: BoolArray) -> list[str]:
        criterion = self.test.criterion
        hint = "Lower `tau` or `variance`; `betarce.explainers.stability_histogram` shows what training rows reach."
        nowhere = f"No training row of the target class that the rules allow has stability >= {criterion.tau:g}. {hint}"
        missed = f"No point with stability >= {criterion.tau:g} was met on the way to stable training rows. {hint}"
        return ["" if good else nowhere if lost else missed for good, lost in zip(passed, self.lost, strict=True)]

    def _ends(self, starts: FloatArray, rows: IntArray, mask: BoolArray) -> tuple[FloatArray, BoolArray]:
        """Find where to walk to: the nearest stable training rows, as far as the rules let each row become them."""
        known = _stable_rows(self.test, mask)
        n, k = len(starts), self.walk.n_neighbors
        ends, usable = np.repeat(starts[:, None], k, axis=1), np.zeros((n, k), dtype=bool)
        order = known.order(starts, self.features)
        left = np.arange(n)
        for turn in range(1, _ROUNDS + 1):
            nearest = known.nearest(order[left], turn * k, self.test.problem, self.test.criterion, mask)[:, -k:]
            there = nearest >= 0
            place = np.repeat(rows[left], k)[there.ravel()]
            found = self.features.project(known.points[nearest[there]], self.box.take(place))
            good = np.zeros_like(there)
            good[there] = self.test.judge(found, place)
            part = ends[left]
            part[there] = found
            ends[left], usable[left] = part, good
            left = left[~good.any(axis=1) & there.all(axis=1)]
            if not left.size:
                break
        self.lost[rows] = ~usable.any(axis=1)
        return ends, usable

    def _walked(
        self, starts: FloatArray, rows: IntArray, ends: FloatArray, usable: BoolArray
    ) -> tuple[FloatArray, BoolArray]:
        """Advance, in each row, the line whose point is closest to the original, until one passes."""
        shares, last = self.walk.shares, self.walk.max_steps
        n, k = usable.shape
        at = np.ones((n, k), dtype=np.intp)

        def points_at(i: IntArray, j: IntArray, steps: IntArray) -> FloatArray:
            blended = self.features.blend(starts[i], ends[i, j], shares[steps][:, None])
            return self.features.project(blended, self.box.take(rows[i]))

        if self.walk.line_search == "bisection":
            self._bisect(at, usable, rows, points_at)
        points, found = starts.copy(), np.zeros(n, dtype=bool)
        candidates, distance = ends.copy(), np.full((n, k), np.inf)
        i, j = np.nonzero(usable)
        while True:
            candidates[i, j] = points_at(i, j, at[i, j])
            distance[i, j] = self.features.distance(candidates[i, j], self.originals[rows[i]])
            alive = np.flatnonzero(~found & np.isfinite(distance).any(axis=1))
            if not alive.size:
                return points, found
            best = distance[alive].argmin(axis=1)
            tried = candidates[alive, best]
            good = self.test.passes(tried, rows[alive])
            points[alive[good]], found[alive[good]] = tried[good], True
            i, j = alive[~good], best[~good]
            at[i, j] += 1
            ended = at[i, j] > last
            distance[i[ended], j[ended]] = np.inf
            i, j = i[~ended], j[~ended]

    def _bisect(
        self,
        at: IntArray,
        usable: BoolArray,
        rows: IntArray,
        points_at: Callable[[IntArray, IntArray, IntArray], FloatArray],
    ) -> None:
        """Move each line ahead to where the test turns; a line that cannot beat those before it is left behind them."""
        last = self.walk.max_steps
        closest = np.full(len(rows), np.inf)
        steps = np.arange(1, last + 1)
        for line in range(usable.shape[1]):
            i = np.flatnonzero(usable[:, line])
            grid = points_at(np.repeat(i, last), np.full(len(i) * last, line), np.tile(steps, len(i)))
            grid = grid.reshape(len(i), last, grid.shape[1])
            distance = self.features.distance(grid, self.originals[rows[i], None])
            # The last step that is still closer than what another line has reached.
            high = ((distance < closest[i, None]) * steps).max(axis=1)
            at[i, line] = np.minimum(high + 1, last)
            near = np.flatnonzero(high > 0)
            known = high[near] == last  # the end of a line has been found stable before
            good = known.copy()
            asked = near[~known]
            good[~known] = self.test.judge(grid[asked, high[asked] - 1], rows[i[asked]])
            near = near[good]
            low, high = np.zeros(len(near), dtype=np.intp), high[near]
            while (wide := np.flatnonzero(high - low > 1)).size:
                middle = (low[wide] + high[wide]) // 2
                passed = self.test.judge(grid[near[wide], middle - 1], rows[i[near[wide]]])
                high[wide[passed]], low[wide[~passed]] = middle[passed], middle[~passed]
            at[i[near], line] = high
            closest[i[near]] = distance[near, high - 1]


class StableRows:
    """Training rows that the model puts in one target, and which of them are stable, found out when needed."""

    def __init__(self, points: FloatArray) -> None:
        self.points = points
        self.verdict = np.full(len(points), -1, dtype=np.int8)  # -1: not known yet

    def order(self, starts: FloatArray, features: FeatureSpace) -> IntArray:
        """Sort training rows by their distance to each start, shape (n, rows)."""
        size = max(1, _DISTANCES // max(1, self.points.size))
        parts = [
            features.distance(starts[i : i + size, None], self.points[None]).argsort(axis=1, kind="stable")
            for i in range(0, len(starts), size)
        ]
        return np.concatenate(parts)

    def nearest(self, order: IntArray, n: int, problem: Problem, criterion: Criterion, mask: BoolArray) -> IntArray:
        """Give the first n stable rows in each order, shape (len(order), n); -1 where there are fewer."""
        while True:
            verdict = self.verdict[order]
            rank = (verdict != 0).cumsum(axis=1)
            chosen = (verdict != 0) & (rank <= n)
            asked = np.unique(order[chosen & (verdict < 0)])
            if not asked.size:
                break
            self.find_out(asked, problem, criterion, mask)
        rows, places = np.nonzero(chosen)
        nearest = np.full((len(order), n), -1, dtype=np.intp)
        nearest[rows, rank[rows, places] - 1] = order[rows, places]
        return nearest

    def find_out(self, asked: IntArray, problem: Problem, criterion: Criterion, mask: BoolArray) -> None:
        # One noise for all, from a seed of its own: the verdict does not depend on who asks.
        noise = criterion.noise(problem.features, 0)[None]
        test = StabilityTest(problem, criterion, np.tile(mask, (len(asked), 1)), noise)
        self.verdict[asked] = test.judge(self.points[asked], np.arange(len(asked)))


def _stable_rows(test: StabilityTest, mask: BoolArray) -> StableRows:
    """Look up the training rows of a target, which are cached on the problem."""
    problem = test.problem

    def find() -> StableRows:
        inside = problem.is_target(problem.X_train, np.tile(mask, (len(problem.X_train), 1)))
        return StableRows(problem.X_train[inside])

    return problem.cached(("stable rows", test.criterion, mask.tobytes()), find)
