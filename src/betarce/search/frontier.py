"""Frontier: for every level of depth, the closest point that is so deep.

Depth says how far inside the target class a point lies under all search members together. From the base the search
climbs, always by the move that gains most depth for its distance; places a rung at every level that it passed; then
moves the rungs closer to the base: where slopes are known by turning them into the cheapest direction, else by putting
single features back. What comes out is a ladder, deepest and farthest first. The search knows a depth and a feature
space, no models.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from betarce.arrays import FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.features import Box, FeatureSpace, Norm
from betarce.search import approach, rungs
from betarce.search.climbing import Climb
from betarce.search.cost import Cost
from betarce.search.evaluations import Depth
from betarce.search.ladders import Ladders
from betarce.search.terrain import Terrain


@dataclass(frozen=True)
class FrontierSearch:
    """Closest points by depth.

    Parameters
    ----------
    norm : float or {"l1", "l2"}
        What "closest" means; a number between 0 and 1 is the share of L2 in a mixture of both. L1 changes few features,
        L2 many a little.
    price : float
        What each changed feature costs on top, in units of L1: how much farther a point may lie to leave one feature
        alone.
    steps : tuple of float
        Lengths of the moves that are tried, in units of the features' ranges.
    max_climbs : int
        Moves from the base to the deepest rung, at most.
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
    >>> features = FeatureSpace.infer(np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> bases = np.array([[0.3, 0.4]])
    >>> ladders = FrontierSearch().climb(bases, Plane(), features, features.box(bases), seeds=[0])
    >>> int(ladders.exists.sum()) > 10
    True
    >>> bool((ladders.points[ladders.exists][:, 1] == 0.4).all())
    True
    """

    norm: Norm | float = "l1"
    price: float = 0.01
    steps: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03)
    max_climbs: int = 40
    refinements: int = 3
    max_evaluations: int = 20_000

    def __post_init__(self) -> None:
        if self.norm not in ("l1", "l2") and not (isinstance(self.norm, (int, float)) and 0 <= self.norm <= 1):
            raise InvalidInput(f"`norm` must be 'l1', 'l2' or a number between 0 and 1; got {self.norm!r}.")
        if not isinstance(self.price, (int, float)) or not 0 <= self.price < np.inf:
            raise InvalidInput(f"`price` must be a number >= 0; got {self.price!r}.")
        if not self.steps or not all(0 < step < np.inf for step in self.steps):
            raise InvalidInput(f"`steps` must be one or more numbers > 0; got {self.steps!r}.")
        for name, least in (("max_climbs", 1), ("refinements", 0), ("max_evaluations", 1)):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < least:
                raise InvalidInput(f"`{name}` must be a whole number >= {least}; got {getattr(self, name)!r}.")

    @property
    def share(self) -> float:
        """The share of L2 in the cost."""
        return float({"l1": 0.0, "l2": 1.0}[self.norm] if isinstance(self.norm, str) else self.norm)

    def climb(
        self,
        bases: FloatArray,
        depth: Depth,
        features: FeatureSpace,
        box: Box,
        seeds: Sequence[int],
        anchors: Callable[[IntArray], FloatArray] | None = None,
        levels: FloatArray | None = None,
    ) -> Ladders:
        """Build a ladder from every base; all rows advance together, and none depends on the others.

        Parameters
        ----------
        bases : array of shape (n, d)
            What the points should stay close to.
        depth : Depth
            What is to be had.
        features : FeatureSpace
        box : Box
            Where each row's points may lie.
        seeds : sequence of int
            One per row.
        anchors : callable, optional
            Gives deep points of the data, shape (rows, anchors, d), the nearest first and the safest last. They show
            the way where climbing gets stuck, and are the safest rungs of all.
        levels : array of shape (levels,), descending, optional
            The depths of the rungs, where they are not to be chosen here; then nothing is put on top of the ladder or
            between its rungs.
        """
        cost = Cost(features, self.share, self.price)
        ground = Terrain(bases, depth, features, box, seeds, cost=cost, budget=self.max_evaluations, levels=levels)
        path = Climb(ground, self.steps, self.max_climbs).path()
        rungs.place(ground, path)
        deep = None if anchors is None else anchors(np.arange(len(bases)))
        if deep is not None:
            approach.walk_to(ground, deep, np.flatnonzero(path.depth[:, -1] < ground.top))
        for turn in range(self.refinements):
            rungs.refine(ground, turn)
        rungs.prune(ground)
        ladders = ground.asked.ladders()
        if levels is not None:
            return ladders
        ladders = rungs.densify(ground, ladders)
        if deep is None:
            return ladders
        return approach.extend(ground, approach.extend(ground, ladders, deep[:, 0]), deep[:, -1])
