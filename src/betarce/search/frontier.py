"""Frontier search: the closest point for every level of depth.

Depth says how far inside the target class a point lies under all search members together. From the base the search
climbs, always by the move that gains most depth for its distance. It places a rung at every level that it passed, and
then moves the rungs closer to the base: where slopes are known by turning them into the cheapest direction, else by
putting single features back. The result is a ladder, deepest and farthest first. The search uses a depth and a feature
space, but no models.
"""

from dataclasses import dataclass, replace

import numpy as np

from betarce.arrays import FloatArray, IntArray
from betarce.checks import check_whole, is_number, is_one_of
from betarce.errors import InvalidInput
from betarce.features import Norm
from betarce.search import approach, rungs
from betarce.search.climbing import Climb, Steps
from betarce.search.cost import Cost
from betarce.search.growing_spheres import GrowingSpheresSearch
from betarce.search.ladders import Ladders
from betarce.search.protocol import Depth, Goal, Task
from betarce.search.terrain import Terrain


@dataclass(frozen=True)
class FrontierSearch:
    """Search for the closest point at every level of depth.

    Parameters
    ----------
    norm : float or {"l1", "l2"}
        The norm of distances; a number between 0 and 1 is the share of L2 in a mixture of both. L1 changes few
        features, L2 many features a little.
    price : float
        Extra cost of each changed feature, in units of L1: how much farther a point may lie to leave one feature
        unchanged.
    steps : tuple of float
        Lengths of the moves that are tried where depth has no slopes, in units of the features' ranges.
    fine_steps : tuple of float
        The same for the few best features, which are tried again between two sweeps over all of them.
    slope_steps : tuple of float
        The same where slopes show the way and no feature is a name or moves in coarse steps: fewer are enough.
    max_climbs : int
        Maximum number of moves from the base to the deepest rung.
    refinements : int
        Rounds in which rungs are moved closer to the base.
    max_evaluations : int
        Budget per row.

    Examples
    --------
    >>> class Plane:
    ...     def __call__(self, points, rows):
    ...         return 10 * points[:, 0] - 5, points[:, 0] > 0.2
    ...     def slopes(self, points, rows):
    ...         return None
    >>> from betarce.features import FeatureSpace
    >>> features = FeatureSpace.infer(np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> starts = np.array([[0.3, 0.4]])
    >>> ladders = FrontierSearch().climb(Task(starts, features, features.box(starts), seeds=[0]), Plane())
    >>> int(ladders.exists.sum()) > 10
    True
    >>> bool((ladders.points[ladders.exists][:, 1] == 0.4).all())
    True
    """

    norm: Norm | float = "l1"
    price: float = 0.01
    steps: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03)
    fine_steps: tuple[float, ...] = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03, 0.015, 0.0075)
    slope_steps: tuple[float, ...] = (0.5, 0.15)
    max_climbs: int = 40
    refinements: int = 2
    max_evaluations: int = 20_000

    def __post_init__(self) -> None:
        share = self.norm
        if not is_one_of(share, ("l1", "l2")) and (
            not is_number(share) or isinstance(share, str) or not 0 <= share <= 1
        ):
            raise InvalidInput(f"`norm` must be 'l1', 'l2' or a number between 0 and 1; got {self.norm!r}.")
        if not is_number(self.price) or not 0 <= self.price < np.inf:
            raise InvalidInput(f"`price` must be a number >= 0; got {self.price!r}.")
        for name in ("steps", "fine_steps", "slope_steps"):
            steps = getattr(self, name)
            listed = isinstance(steps, (tuple, list)) and len(steps) > 0
            if not listed or not all(is_number(step) and 0 < step < np.inf for step in steps):
                raise InvalidInput(f"`{name}` must be one or more numbers > 0; got {steps!r}.")
        for name, least in (("max_climbs", 1), ("refinements", 0), ("max_evaluations", 1)):
            check_whole(name, getattr(self, name), least=least)

    @classmethod
    def thorough(cls) -> "FrontierSearch":
        """Search with smaller steps and more rounds, for points a few percent closer in half as much time again.

        `BetaRCE(n_models="many")` takes it by default.
        """
        return cls(steps=(0.3, 0.1, 0.03, 0.01), refinements=4)

    @property
    def share(self) -> float:
        """The share of L2 in the cost."""
        return float({"l1": 0.0, "l2": 1.0}[self.norm] if isinstance(self.norm, str) else self.norm)

    def ladders(self, task: Task, goal: Goal) -> Ladders:
        """Give each row its ladder; where climbing met nothing at all, let Growing Spheres look around."""
        ladders = self.climb(task, goal, anchors=goal.anchors(task))
        left = self.max_evaluations - ladders.n_evaluations
        empty = np.flatnonzero(~ladders.exists.any(axis=1) & (left > 0))
        return _filled(ladders, empty, task, goal, left[empty]) if empty.size else ladders

    def climb(
        self, task: Task, depth: Depth, *, anchors: FloatArray | None = None, levels: FloatArray | None = None
    ) -> Ladders:
        """Build a ladder from every start; all rows advance together, and none depends on the others.

        Parameters
        ----------
        task : Task
            Where each row starts, and where its points may lie.
        depth : Depth
            What is to be had.
        anchors : array of shape (n, anchors, d), optional
            Deep points of the data, the nearest first and the safest last. They show the way where climbing gets
            stuck, and are the safest rungs of all.
        levels : array of shape (levels,), descending, optional
            The depths of the rungs, where they are not to be chosen here; then nothing is put on top of the ladder.
        """
        cost = Cost(task.features, self.share, self.price)
        ground = Terrain(task, depth, cost=cost, budget=self.max_evaluations, levels=levels)
        path = Climb(ground, Steps(self.steps, self.fine_steps, self.slope_steps), self.max_climbs).path()
        rungs.place(ground, path)
        if anchors is not None:
            approach.walk_to(ground, anchors, np.flatnonzero(path.depth[:, -1] < ground.top))
        for turn in range(self.refinements):
            rungs.refine(ground, turn)
        rungs.prune(ground)
        ladders = ground.asked.ladders()
        if levels is not None or anchors is None:
            return ladders
        return approach.extend(ground, approach.extend(ground, ladders, anchors[:, 0]), anchors[:, -1])


def _filled(ladders: Ladders, rows: IntArray, task: Task, goal: Goal, left: IntArray) -> Ladders:
    """Give rows without a rung the one that Growing Spheres finds with what is left of the budget, if it finds any."""
    found = GrowingSpheresSearch().find(
        task.take(rows), lambda points, own: goal.is_robust(points, rows[own]), budget=left
    )
    points, exists, spent = ladders.points.copy(), ladders.exists.copy(), ladders.spent.copy()
    points[rows, 0], exists[rows, 0], spent[rows] = found.points, found.found, found.spent
    evaluations = ladders.n_evaluations.copy()
    evaluations[rows] += found.n_evaluations
    return replace(ladders, points=points, exists=exists, spent=spent, n_evaluations=evaluations)
