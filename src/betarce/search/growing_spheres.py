"""Growing Spheres: search ever larger shells around a point until one holds a hit.

The paper's Algorithm 2. The search uses a predicate and a feature space, but no models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.checks import check_flag, check_whole, is_number, is_one_of
from betarce.errors import InvalidInput
from betarce.features import Box, FeatureSpace, Norm
from betarce.search.ladders import Ladders
from betarce.search.protocol import Goal, Predicate, Task

SearchStatus = Literal["found", "not-found", "budget-spent"]


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search found for each row.

    Attributes
    ----------
    points : array of shape (n, d)
        The point found, or the centre where there is none.
    status : list of {"found", "not-found", "budget-spent"}
        "not-found" means that the whole box was searched, "budget-spent" that evaluations ran out.
    n_evaluations : array of int, shape (n,)
        The number of points evaluated.

    Examples
    --------
    >>> found = SearchResult(points=np.array([[0.5]]), status=["found"], n_evaluations=np.array([40]))
    >>> found.status
    ['found']
    """

    points: FloatArray
    status: list[SearchStatus]
    n_evaluations: IntArray

    @property
    def found(self) -> BoolArray:
        """Which rows have a point."""
        return np.array([status == "found" for status in self.status])

    @property
    def spent(self) -> BoolArray:
        """Which rows ran out of evaluations."""
        return np.array([status == "budget-spent" for status in self.status])


@dataclass(frozen=True)
class GrowingSpheresSearch:
    """Search for the closest hit of the first shell that holds any.

    Parameters
    ----------
    initial_radius : float
        Radius of the first ball, eta in the paper, in units of the features' ranges.
    n_candidates : int
        Points drawn in each ball or shell, n in the paper.
    max_evaluations : int
        Budget per row.
    bounded : bool
        Whether candidates are moved into the box of allowed values. False searches without bounds, as the paper does.
    norm : {"l1", "l2"}
        The norm of distances among the candidates of the last shell; the shells themselves are L2, as in the paper.

    Examples
    --------
    >>> features = FeatureSpace.infer(np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> centers = np.array([[0.2, 0.5]])
    >>> def right_half(points, rows):
    ...     return points[:, 0] > 0.5
    >>> search = GrowingSpheresSearch()
    >>> result = search.find(Task(centers, features, features.box(centers), seeds=[0]), right_half)
    >>> result.status, bool(result.points[0, 0] > 0.5)
    (['found'], True)
    """

    initial_radius: float = 0.1
    n_candidates: int = 100
    max_evaluations: int = 50_000
    bounded: bool = True
    norm: Norm = "l2"

    def __post_init__(self) -> None:
        if not is_number(self.initial_radius) or not 0 < self.initial_radius < np.inf:
            raise InvalidInput(f"`initial_radius` must be a number > 0; got {self.initial_radius!r}.")
        for name in ("n_candidates", "max_evaluations"):
            check_whole(name, getattr(self, name))
        check_flag("bounded", self.bounded)
        if not is_one_of(self.norm, ("l1", "l2")):
            raise InvalidInput(f"`norm` must be 'l1' or 'l2'; got {self.norm!r}.")

    def ladders(self, task: Task, goal: Goal) -> Ladders:
        """Give each row a ladder of one rung: the point found."""
        result = self.find(task, goal.is_robust)
        return Ladders(
            result.points[:, None],
            result.found[:, None],
            np.zeros((len(task), 1)),
            result.n_evaluations,
            result.spent,
        )

    def find(self, task: Task, predicate: Predicate, *, budget: IntArray | None = None) -> SearchResult:
        """Search around every start; all rows advance together, and none depends on the others.

        Parameters
        ----------
        task : Task
            Where to start, and where each row's points may lie.
        predicate : callable
            What is sought.
        budget : array of int, shape (n,), optional
            Evaluations of each row, one or more, where they are not `max_evaluations` for all.
        """
        most = np.full(len(task), self.max_evaluations) if budget is None else budget
        centers, features = task.starts, task.features
        walls = task.box if self.bounded else features.unbounded(centers)
        start = features.project(centers, walls)
        state = _State(centers, walls, features, task.seeds, self.initial_radius)

        def seeks(points: FloatArray, rows: IntArray) -> BoolArray:
            hits = predicate(points, rows)
            if features.linked:
                hits = hits & ~features.violations(points, walls.take(rows)).any(axis=1)
            return hits

        self._settle_starts(state, start, seeks)
        while (active := np.flatnonzero(state.searching & (state.spent + self.n_candidates <= most))).size:
            owners = np.repeat(active, self.n_candidates)
            around = walls.take(owners)
            # Halving goes on while the smallest ball holds a hit: without an end, down to moves that nobody can make.
            candidates = features.tidy(features.project(state.sample(active, self.n_candidates), around), around)
            hits = seeks(candidates, owners).reshape(len(active), -1)
            state.spent[active] += self.n_candidates
            shaped = candidates.reshape(len(active), self.n_candidates, -1)
            distance = features.distance(shaped, centers[active, None], norm=self.norm)
            state.advance(active, shaped, hits, distance)
        return state.result()

    @staticmethod
    def _settle_starts(state: "_State", start: FloatArray, predicate: Predicate) -> None:
        """A centre that is what we seek needs no search: every ball around it would hold a hit."""
        rows = np.arange(len(start))
        hit = predicate(start, rows)
        state.points[:] = start
        state.spent += 1
        state.found |= hit
        state.searching &= ~hit


class _State:
    """The state of the search in each row."""

    def __init__(
        self, centers: FloatArray, walls: Box, features: FeatureSpace, seeds: Sequence[int], radius: float
    ) -> None:
        n = len(centers)
        self.centers = centers
        self.scale = features.scale
        # Along a feature that cannot move nothing is drawn, lest the spheres lose their volume to it.
        self.slides = walls.free & ~features.is_nominal & ~np.isnan(centers)
        self.flips = walls.free & features.is_nominal
        self.levels = np.array([len(column.levels or ()) for column in features.columns])
        self.dimensions = self.slides.sum(axis=1)
        self.reach = self._farthest(walls)
        self.generators = [np.random.default_rng(seed) for seed in seeds]
        self.points = centers.copy()
        self.found = np.zeros(n, dtype=bool)
        self.searching = np.asarray((self.slides | self.flips).any(axis=1))
        self.halving = np.ones(n, dtype=bool)
        self.inner = np.zeros(n)
        self.outer = np.full(n, radius)
        self.step = np.full(n, radius)
        self.spent = np.zeros(n, dtype=np.intp)

    def _farthest(self, walls: Box) -> FloatArray:
        span = np.maximum(np.abs(walls.lower - self.centers), np.abs(walls.upper - self.centers)) / self.scale
        squares = np.where(self.slides, np.square(span), self.flips)
        return np.asarray(np.sqrt(squares.sum(axis=1)))

    def sample(self, active: IntArray, n: int) -> FloatArray:
        """Draw points from the shell of each active row, shape (active * n, d): uniformly, as far as categories allow.

        A category that changes uses up one unit of the squared radius; the rest goes to the numbers.
        """
        d = self.centers.shape[1]
        normals = np.stack([self.generators[i].standard_normal((n, d)) for i in active])
        uniforms = np.stack([self.generators[i].random(n) for i in active])
        # Uniform in volume: the radius is the inverse of its distribution function, in a form that cannot overflow.
        dimensions = np.maximum(self.dimensions[active, None], 1)
        hole = _power((self.inner[active] / self.outer[active])[:, None], dimensions)
        radii = self.outer[active, None] * _power(hole + uniforms * (1 - hole), 1 / dimensions)
        centers = self.centers[active, None]
        candidates = np.repeat(centers, n, axis=1)
        # Only rows that have names to flip draw for them: what a row draws must not hang on its company.
        flipping = np.flatnonzero(self.flips[active].any(axis=1))
        if flipping.size:
            part = candidates[flipping]
            radii[flipping] = self._flip(active[flipping], part, radii[flipping])
            candidates[flipping] = part
        normals *= self.slides[active, None]
        normals /= np.maximum(np.linalg.norm(normals, axis=2, keepdims=True), 1e-300)
        candidates += normals * radii[..., None] * self.scale
        return np.asarray(candidates.reshape(-1, d))

    def _flip(self, active: IntArray, candidates: FloatArray, radii: FloatArray) -> FloatArray:
        """Change some categories of the candidates; give the radius that is left."""
        n, d = candidates.shape[1:]
        draws = np.stack([self.generators[i].random((2, n, d)) for i in active])
        most = np.minimum(np.floor(np.square(radii)), self.flips[active].sum(axis=1)[:, None])
        count = np.stack([self.generators[i].random(n) for i in active]) * (most + 1) // 1
        # The first `count` columns in a random order of those that can flip.
        order = np.where(self.flips[active, None], draws[:, 0], np.inf).argsort(axis=2).argsort(axis=2)
        flipped = (order < count[..., None]) & self.flips[active, None]
        levels = np.floor(draws[:, 1] * self.levels)
        candidates[:] = np.where(flipped, levels, candidates)
        return np.asarray(np.sqrt(np.maximum(np.square(radii) - count, 0)))

    def advance(self, active: IntArray, candidates: FloatArray, hits: BoolArray, distance: FloatArray) -> None:
        """Halve, grow or finish each row, depending on its candidates."""
        any_hit = hits.any(axis=1)
        halving = self.halving[active]
        smaller = active[halving & any_hit]
        self.step[smaller] /= 2
        self.outer[smaller] = self.step[smaller]

        growing = active[~any_hit]
        self.halving[growing] = False
        self.inner[growing] = self.outer[growing]
        self.outer[growing] += self.step[growing]
        # Beyond twice the box's reach, what is drawn is the same few corners again and again.
        self.searching[growing[self.inner[growing] > 2 * self.reach[growing]]] = False

        done = np.flatnonzero(~halving & any_hit)
        best = np.where(hits[done], distance[done], np.inf).argmin(axis=1)
        self.points[active[done]] = candidates[done, best]
        self.found[active[done]] = True
        self.searching[active[done]] = False

    def result(self) -> SearchResult:
        statuses: list[SearchStatus] = [
            "found" if found else "budget-spent" if searching else "not-found"
            for found, searching in zip(self.found, self.searching, strict=True)
        ]
        return SearchResult(self.points, statuses, self.spent)


def _power(base: FloatArray, exponents: AnyArray) -> FloatArray:
    """Raise to powers, to the same bits for one row and for many.

    If there is only one exponent, numpy squares for 2 and takes the root for 0.5, which may round another way.
    """
    if exponents.size > 1:
        return np.asarray(base**exponents)
    twice = np.repeat(base.reshape(1, -1), 2, axis=0)
    return np.asarray(np.power(twice, np.full(twice.shape, exponents.item()))[0].reshape(base.shape))
