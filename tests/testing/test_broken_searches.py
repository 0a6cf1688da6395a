"""Searches that break one promise each: the contract names the one that is broken."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from betarce.errors import ContractBroken
from betarce.search import GrowingSpheresSearch, Ladders
from betarce.testing import check_search_contract, four_cases

BINARY, MIXED = 0, 1


@dataclass(frozen=True)
class StraightLine:
    """Keeps every promise: walks from each row straight to the safest row of the data that the goal knows."""

    steps: int = 20

    def points(self, task, goal):
        anchors = goal.anchors(task)
        far = task.starts if anchors is None else anchors[:, -1]
        n, d = task.starts.shape
        shares = np.linspace(0, 1, self.steps)[:, None]
        points = task.features.blend(far[:, None], task.starts[:, None], shares).reshape(n * self.steps, d)
        rows = np.repeat(np.arange(n), self.steps)
        return task.features.project(points, task.box.take(rows)), rows

    def ladders(self, task, goal):
        points, rows = self.points(task, goal)
        depth, valid = goal(points, rows)
        good = valid & ~task.features.violations(points, task.box.take(rows)).any(axis=1)
        n = len(task)
        return Ladders(
            points.reshape(n, self.steps, -1),
            # What lies deeper behind a rung is no rung.
            good.reshape(n, -1) & (np.minimum.accumulate(depth.reshape(n, -1), axis=1) == depth.reshape(n, -1)),
            depth.reshape(n, self.steps),
            np.full(n, self.steps),
            np.zeros(n, dtype=bool),
        )


class Lucky(StraightLine):
    def ladders(self, task, goal):
        ladders = super().ladders(task, goal)
        return replace(ladders, n_evaluations=ladders.n_evaluations + np.random.randint(1000))  # noqa: NPY002


class Crowded(StraightLine):
    def ladders(self, task, goal):
        ladders = super().ladders(task, goal)
        return replace(ladders, n_evaluations=ladders.n_evaluations + len(task))


class Meddler(StraightLine):
    def ladders(self, task, goal):
        ladders = super().ladders(task, goal)
        task.starts[:] = 0
        return ladders


class Hasty(StraightLine):
    def points(self, task, goal):
        points, rows = super().points(task, goal)
        return points + np.where(task.features.is_nominal, 0, 1e-7), rows


class Thrifty(StraightLine):
    def ladders(self, task, goal):
        return replace(super().ladders(task, goal), n_evaluations=np.ones(len(task), dtype=int))


class UpsideDown(StraightLine):
    def ladders(self, task, goal):
        ladders = super().ladders(task, goal)
        turned = {name: getattr(ladders, name)[:, ::-1] for name in ("points", "exists", "levels")}
        return replace(ladders, **turned)


class Trespasser(StraightLine):
    def ladders(self, task, goal):
        ladders = super().ladders(task, goal)
        points = ladders.points.copy()
        points[..., 0] = task.box.upper[:, None, 0] + 1
        return replace(ladders, points=points)


class Boaster(StraightLine):
    def ladders(self, task, goal):
        ladders = super().ladders(task, goal)
        return replace(ladders, exists=np.ones_like(ladders.exists))


class Short(StraightLine):
    def ladders(self, task, goal):
        ladders = super().ladders(task, goal)
        return Ladders(*(part[:1] for part in vars(ladders).values()))


class Bare(StraightLine):
    def ladders(self, task, goal):
        return super().ladders(task, goal).points


class Nowhere(StraightLine):
    def ladders(self, task, goal):
        return Ladders.none(len(task), task.starts.shape[1])


@pytest.mark.slow
def test_a_search_that_keeps_all_promises_passes():
    check_search_contract(StraightLine())


@pytest.mark.parametrize(
    ("search", "case", "message"),
    [
        (Lucky(), BINARY, "the same seeds gave other n_evaluations the second time"),
        (Crowded(), BINARY, "n_evaluations of row 0 depend on which other rows are explained with it"),
        (Meddler(), BINARY, "the task was changed in place"),
        (Hasty(), MIXED, "the goal was asked about a point that changes when it is handed out"),
        (Thrifty(), BINARY, "`n_evaluations` must count every point asked about"),
        (UpsideDown(), BINARY, r"the first rung of row \d is not its safest"),
        (Trespasser(), BINARY, "a rung of row 0 breaks the rules"),
        (Boaster(), BINARY, "the model's own `predict` does not give a rung of row 0 a class that it accepts"),
        (Short(), BINARY, r"there must be one ladder per row \(8\); got 1"),
        (Bare(), BINARY, "`ladders` must return Ladders"),
        (Nowhere(), BINARY, "no row has a single rung"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "ladders") else "",
)
def test_a_broken_search_is_caught_by_the_promise_that_it_breaks(search, case, message):
    chosen = four_cases()[case]
    with pytest.raises(ContractBroken, match=f"{type(search).__name__} on {chosen.name}: {message}"):
        check_search_contract(search, cases=[chosen])


class Gullible(GrowingSpheresSearch):
    def ladders(self, task, goal):
        ladders = super().ladders(task, goal)
        return replace(ladders, exists=np.ones_like(ladders.exists)) if len(task) == 2 else ladders


class Quiet(GrowingSpheresSearch):
    def ladders(self, task, goal):
        return replace(super().ladders(task, goal), spent=np.zeros(len(task), dtype=bool))


@pytest.mark.slow
def test_what_a_search_says_of_a_goal_that_no_point_reaches_is_checked():
    case = [four_cases()[BINARY]]
    with pytest.raises(ContractBroken, match="a goal that no point reaches was said to be reached"):
        check_search_contract(Gullible(), cases=case)
    good = GrowingSpheresSearch()
    with pytest.raises(ContractBroken, match="a budget ran out, and `spent` does not say so"):
        check_search_contract(good, cases=case, frugal=Quiet(max_evaluations=150))
    with pytest.raises(ContractBroken, match="a budget of 100 evaluations was overrun: 101 were made"):
        check_search_contract(good, cases=case, frugal=GrowingSpheresSearch(max_evaluations=150), max_evaluations=100)
    with pytest.raises(ContractBroken, match="the frugal one has no `max_evaluations`: say what it may ask"):
        check_search_contract(good, cases=case, frugal=StraightLine())
