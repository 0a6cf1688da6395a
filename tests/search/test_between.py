"""Rungs between the rungs of a ladder, where slopes show the way."""

import numpy as np
import pytest

from betarce.features import FeatureSpace
from betarce.search import FrontierSearch, Task
from betarce.search.levels import CLOSE, DEEPEST, levels_above

UNIT = FeatureSpace.infer(np.array([[0.0] * 4, [1.0] * 4]))
BASES = np.array([[0.1, 0.2, 0.3, 0.4], [0.2, 0.1, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0]])


class Bowl:
    """A depth that rises ever more slowly along each feature; points are valid above zero."""

    def __init__(self, weights, offset, *, sloped=True):
        self.weights, self.offset, self.sloped = np.asarray(weights, dtype=float), offset, sloped
        self.asked = 0

    def __call__(self, points, rows):
        self.asked += len(points)
        depth = (points - 0.2 * points**2) @ self.weights - self.offset
        return depth, depth > 0

    def slopes(self, points, rows):
        return (1 - 0.4 * points) * self.weights if self.sloped else None


def climb(depth, *, bases=BASES, search=None):
    task = Task(bases, UNIT, UNIT.box(bases), list(range(len(bases))))
    anchors = np.ones((len(bases), 2, 4))
    return (search or FrontierSearch()).climb(task, depth, anchors=anchors)


def in_between(ladders, depth, bases=BASES):
    """Say which rungs have a level that no ladder has of itself."""
    own = levels_above(np.round(depth(bases, None)[0], 4))
    known = np.array([np.isin(levels, each) for levels, each in zip(ladders.levels, own, strict=True)])
    return ladders.exists & ~known


def test_where_slopes_show_the_way_there_are_rungs_between_rungs():
    depth = Bowl([4, 3, 2, 1], 1.5)
    ladders = climb(depth)
    between = in_between(ladders, depth)
    assert (between.sum(axis=1) >= 5).all()
    assert (ladders.levels[between] <= CLOSE).all()


def test_without_slopes_there_are_none():
    depth = Bowl([4, 3, 2, 1], 1.5, sloped=False)
    ladders = climb(depth)
    assert ladders.exists.any(axis=1).all()
    assert not in_between(ladders, depth).any()


def test_every_rung_is_as_deep_as_its_level_and_closer_than_the_one_before():
    depth = Bowl([4, 3, 2, 1], 1.5)
    ladders = climb(depth)
    for row, base in enumerate(BASES):
        points, levels = ladders.points[row, ladders.exists[row]], ladders.levels[row, ladders.exists[row]]
        deep, valid = depth(points, None)
        assert valid.all()
        climbed = levels < DEEPEST  # above are points on the way to anchors
        assert (deep >= levels - 1e-9)[climbed].all()
        assert (np.diff(UNIT.distance(points, np.repeat(base[None], len(points), axis=0))) < 0).all()


def test_a_rung_between_two_changes_what_both_change_and_no_change_can_be_taken_back():
    depth = Bowl([4, 3, 2, 1], 1.5)
    ladders = climb(depth)
    between = in_between(ladders, depth)
    for row, rung in zip(*np.nonzero(between), strict=True):
        changed = UNIT.differs(ladders.points[row, rung][None], BASES[[row]])[0]
        for column in np.flatnonzero(changed):
            back = ladders.points[row, rung].copy()
            back[column] = BASES[row, column]
            [deep], [valid] = depth(back[None], None)
            assert not (valid and deep >= ladders.levels[row, rung]), (row, rung, column)


@pytest.mark.parametrize("budget", [50, 120, 150, 180, 210, 240])
def test_rungs_in_between_keep_the_budget(budget):
    depth = Bowl([4, 3, 2, 1], 1.5)
    ladders = climb(depth, bases=BASES[:1], search=FrontierSearch(max_evaluations=budget))
    assert depth.asked == ladders.n_evaluations[0] <= budget


def test_a_row_has_the_same_rungs_in_between_alone_and_in_company():
    together = climb(Bowl([4, 3, 2, 1], 1.5))
    for row in range(len(BASES)):
        alone = climb(Bowl([4, 3, 2, 1], 1.5), bases=BASES[[row]])
        np.testing.assert_array_equal(alone.exists[0], together.exists[row])
        np.testing.assert_array_equal(alone.points[0][alone.exists[0]], together.points[row][together.exists[row]])
