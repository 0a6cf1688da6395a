"""What every search has in common: rows that start somewhere, a goal that scores points, and ladders that come out.

A search sees no model. It asks the goal about points of the feature space, within a budget of evaluations, and hands
back its candidates row by row, safest first and closest last.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.features import Box, FeatureSpace
from betarce.search.ladders import Ladders

Predicate = Callable[[FloatArray, IntArray], BoolArray]
"""Points of shape (k, d) and the row that each belongs to -> whether each is what that row seeks."""


@dataclass(frozen=True, eq=False)
class Task:
    """Rows that want a point: where each starts, and where it may go.

    Attributes
    ----------
    starts : array of shape (n, d)
        What the points should stay close to.
    features : FeatureSpace
        Units of distance, whole numbers, names.
    box : Box
        Where each row's points may lie.
    seeds : sequence of int
        One per row.

    Examples
    --------
    >>> import numpy as np
    >>> from betarce import FeatureSpace
    >>> features = FeatureSpace.infer(np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> starts = np.array([[0.3, 0.4]])
    >>> task = Task(starts, features, features.box(starts), seeds=[0])
    >>> len(task.starts)
    1
    """

    starts: FloatArray
    features: FeatureSpace
    box: Box
    seeds: Sequence[int]

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: IntArray) -> "Task":
        """Pick some rows."""
        return Task(self.starts[rows], self.features, self.box.take(rows), [self.seeds[i] for i in rows])


class Depth(Protocol):
    """How deep points lie, and which of them the explained model itself puts in the target class."""

    def __call__(self, points: FloatArray, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        """Give depth and validity of points of shape (k, d) that belong to `rows`."""

    def slopes(self, points: FloatArray, rows: IntArray) -> FloatArray | None:
        """Give the gradient of the depth, shape (k, d); None where there is none."""


class Goal(Depth, Protocol):
    """What a search is after, and all that it may ask."""

    def is_robust(self, points: FloatArray, rows: IntArray) -> BoolArray:
        """Say which points of shape (k, d) would do for their rows, shape (k,)."""

    def anchors(self, task: Task) -> FloatArray | None:
        """Give rows of the data that lie deep in each row's target, moved to what is allowed; None if there are none.

        Returns
        -------
        array of shape (n, anchors, d), or None
            The nearest first, the safest last. The task has the rows of the goal, all of them and in their order.
        """


@runtime_checkable
class Search(Protocol):
    """A way to find robust points: any object with `ladders`, usually a frozen dataclass of its parameters.

    What an implementation must keep to is checked by `betarce.testing.check_search_contract`.
    """

    def ladders(self, task: Task, goal: Goal) -> Ladders:
        """Give each row its candidates, safest first and closest last; no row may depend on the others."""


@runtime_checkable
class Climber(Protocol):
    """A search that can also climb to given depths: it finds plain counterfactuals too, by what "closest" means to it.

    `BetaRCE` takes such a search for the base that it shows for contrast; for any other it takes the default one.
    """

    def climb(
        self, task: Task, depth: Depth, *, anchors: FloatArray | None = None, levels: FloatArray | None = None
    ) -> Ladders:
        """Build a ladder from every start; see `FrontierSearch.climb`."""
