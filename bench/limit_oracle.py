"""The closest point that enough linear members accept, with a proof of how close any such point can be.

A mixed-integer program: one binary per member says whether its vote is given up. `scipy.optimize.milp` (HiGHS) solves
it; a greedy search comes first, for its distance bounds the constants of the program and so makes it small.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import LinearConstraint, OptimizeResult, linprog, milp

from betarce.arrays import BoolArray, FloatArray, IntArray

MARGIN = 1e-6  # by which a point is accepted, against rounding: a member's largest weight counts as 1
CLEAR = 1e-9  # a margin that no rounding turns into a refusal
NODES = 20_000  # that the program may branch into: a limit that is the same on every machine
SECONDS = 60.0  # for one program at most, should the nodes take long
PROVEN = 1e-5  # the largest gap that counts as none, in ranges of a feature: ten times what `MARGIN` costs


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """Where linear members accept: `weights @ x + offsets > 0`.

    Attributes
    ----------
    weights : array of float, shape (members, d)
        Scaled, so that the largest of each member is 1.
    offsets : array of float, shape (members,)
    """

    weights: FloatArray
    offsets: FloatArray

    @classmethod
    def of(cls, coefficients: FloatArray, intercepts: FloatArray, *, positive: bool) -> "HalfSpaces":
        """Read the half-spaces of the positive class, or of the other one, off the members."""
        sign = 1.0 if positive else -1.0
        largest = np.abs(coefficients).max(axis=1)
        # A member without weights answers alike everywhere: its intercept alone decides.
        scale = sign / np.where(largest > 0, largest, 1.0)
        return cls(coefficients * scale[:, None], intercepts * scale)

    def margins(self, point: FloatArray) -> FloatArray:
        """Say how far each member accepts a point."""
        return np.asarray(self.weights @ point + self.offsets)


@dataclass(frozen=True, eq=False)
class Place:
    """What is sought around one base: the model must accept, and so must enough members, inside the box."""

    base: FloatArray
    lower: FloatArray
    upper: FloatArray
    model: HalfSpaces
    members: HalfSpaces

    @property
    def room(self) -> FloatArray:
        """How far each feature can go up, then how far each can go down."""
        return np.concatenate([self.upper - self.base, self.base - self.lower])

    def votes(self, point: FloatArray) -> int:
        """Count the members that accept a point; none do where the model does not."""
        ok = (self.model.margins(point) > CLEAR).all()
        return int((self.members.margins(point) > CLEAR).sum()) if ok else 0

    def distance(self, point: FloatArray) -> float:
        """Give the L1 distance to the base."""
        return float(np.abs(point - self.base).sum())

    def point(self, moves: FloatArray) -> FloatArray:
        """Turn moves up and moves down into a point of the box."""
        up, down = np.split(moves, 2)
        return np.asarray(np.clip(self.base + up - down, self.lower, self.upper))


@dataclass(frozen=True, eq=False)
class Closest:
    """The closest point known, and the distance below which there is none.

    Attributes
    ----------
    point : array of float, shape (d,), or None
        None if no point is accepted by so many.
    distance, bound : float
        L1 to the base; what is proven to be a lower bound. Both infinite if it is proven that there is no such point.
    """

    point: FloatArray | None
    distance: float
    bound: float

    @property
    def gap(self) -> float:
        """How much closer a point may be than the one that is known."""
        return 0.0 if self.distance == self.bound else self.distance - self.bound

    @property
    def proven(self) -> bool:
        """Whether no point can be noticeably closer."""
        return self.gap <= PROVEN


def closest_by_votes(place: Place, levels: Sequence[int], starts: FloatArray) -> dict[int, Closest]:
    """Find the closest point at each of some numbers of votes.

    Parameters
    ----------
    place : Place
    levels : sequence of int
        Votes required.
    starts : array of shape (n, d)
        Points to begin with; those that are not accepted are of no use, and do no harm.
    """
    known = [*starts, *greedy_path(place, min(levels)).values()]
    found: dict[int, Closest] = {}
    for votes in sorted(set(levels), reverse=True):
        able = [point for point in known if place.votes(point) >= votes]
        found[votes] = closest(place, votes, min(able, key=place.distance, default=None))
        point = found[votes].point
        known += [] if point is None else [point]  # what has more votes is a start for what needs fewer
    return found


def greedy_path(place: Place, least: int) -> dict[int, FloatArray]:
    """Give up one vote after the other, always the one that helps most; by votes required, the points on the way.

    Only members whose border the point lies on are tried: giving up any other changes nothing.
    """
    kept = np.ones(len(place.members.offsets), dtype=bool)
    kept &= _violations(place) <= MARGIN
    found: dict[int, FloatArray] = {}
    solved = _closest_to_keep(place, kept)
    while solved is not None and kept.sum() >= least:
        point, active = solved
        for votes in range(int(kept.sum()), place.votes(point) + 1):
            found.setdefault(votes, point)
        trials = []
        for member in active:
            without = kept.copy()
            without[member] = False
            trial = _closest_to_keep(place, without)
            if trial is not None:
                trials.append((place.distance(trial[0]), int(member), trial))
        if not trials:  # the base itself, or a point that only the model holds back
            found.update({votes: point for votes in range(least, int(kept.sum())) if votes not in found})
            break
        _, member, solved = min(trials, key=lambda each: each[:2])
        kept[member] = False
    return found


def closest(place: Place, votes: int, start: FloatArray | None = None) -> Closest:
    """Find the closest point that the model and so many members accept.

    Parameters
    ----------
    place : Place
    votes : int
    start : array of shape (d,), optional
        A point that is accepted already. No program is solved where it is the base.
    """
    if place.votes(place.base) >= votes:
        return Closest(place.base, 0.0, 0.0)
    known = start if start is not None and place.votes(start) >= votes else None
    radius = float(place.room.sum()) if known is None else place.distance(known)
    solved = _solve(place, votes, radius * (1 + 1e-9))
    if solved is None:  # nothing within the radius, to the solver's tolerance
        return Closest(known, radius, radius) if known is not None else Closest(None, np.inf, np.inf)
    bound, kept = solved
    points = [] if known is None else [known]
    if kept is not None:
        again = _closest_to_keep(place, kept)
        points += [again[0]] if again is not None and place.votes(again[0]) >= votes else []
    if not points:
        return Closest(None, np.inf, bound)
    best = min(points, key=place.distance)
    return Closest(best, place.distance(best), min(bound, place.distance(best)))


def _solve(place: Place, votes: int, radius: float) -> tuple[float, BoolArray | None] | None:
    """Solve the program within a radius: a lower bound and the members kept; None if nothing is there."""
    own, members = place.members.margins(place.base), place.members
    worst = own - _reach(-members.weights, place.room, radius)
    best = own + _reach(members.weights, place.room, radius)
    lost, open_ = best <= 0, np.flatnonzero((best > 0) & (worst <= 0))
    spare = len(own) - votes - int(lost.sum())
    if spare < 0:
        return None
    d, n = len(place.base), len(open_)
    cost = np.concatenate([np.ones(2 * d), np.zeros(n)])
    signed = np.hstack([members.weights[open_], -members.weights[open_]])
    model = np.hstack([place.model.weights, -place.model.weights])
    constraints = [
        LinearConstraint(np.hstack([signed, np.diag(-worst[open_])]), -own[open_], np.inf),
        LinearConstraint(np.hstack([model, np.zeros((len(model), n))]), -place.model.margins(place.base), np.inf),
        LinearConstraint(np.concatenate([np.zeros(2 * d), np.ones(n)])[None], -np.inf, spare),
        LinearConstraint(cost[None], -np.inf, radius),
    ]
    result: OptimizeResult = milp(
        cost,
        constraints=constraints,
        bounds=(np.zeros(2 * d + n), np.concatenate([np.minimum(place.room, radius), np.ones(n)])),
        integrality=np.concatenate([np.zeros(2 * d), np.ones(n)]),
        options={"node_limit": NODES, "time_limit": SECONDS, "mip_rel_gap": PROVEN / 4},
    )
    if result.status == 2:
        return None
    bound = 0.0 if result.mip_dual_bound is None else max(0.0, float(result.mip_dual_bound))
    if result.x is None:
        return bound, None
    kept = ~lost
    kept[open_] = result.x[2 * d :] < 0.5
    return bound, kept


def _reach(weights: FloatArray, room: FloatArray, radius: float) -> FloatArray:
    """Say how much each member's margin can grow within the radius and the box: the largest weights are used first."""
    up, down = np.split(room, 2)
    gain, space = np.abs(weights), np.where(weights > 0, up, down)
    order = np.argsort(-gain, axis=1)
    space = np.take_along_axis(space, order, axis=1)
    before = np.cumsum(space, axis=1) - space
    used = np.clip(radius - before, 0.0, space)
    return np.asarray((np.take_along_axis(gain, order, axis=1) * used).sum(axis=1))


def _closest_to_keep(place: Place, kept: BoolArray) -> tuple[FloatArray, IntArray] | None:
    """Find the closest point that the model and certain members accept, and which of them hold it back."""
    rows = np.flatnonzero(kept)
    weights = np.vstack([place.model.weights, place.members.weights[rows]])
    own = np.concatenate([place.model.margins(place.base), place.members.margins(place.base)[rows]])
    result = linprog(
        np.ones(2 * len(place.base)),
        A_ub=np.hstack([-weights, weights]),
        b_ub=own - MARGIN,
        bounds=np.stack([np.zeros(len(place.room)), place.room], axis=1),
        method="highs",
    )
    if result.status != 0:
        return None
    prices = np.abs(result.ineqlin.marginals[len(place.model.offsets) :])
    return place.point(result.x), rows[prices > 1e-9]


def _violations(place: Place) -> FloatArray:
    """Say by how much each member must be disappointed at the least, in all: zeros if all can be won at once."""
    d, m = len(place.base), len(place.members.offsets)
    model, members = place.model, place.members
    slack = np.vstack([np.zeros((len(model.offsets), m)), -np.eye(m)])
    weights = np.vstack([model.weights, members.weights])
    own = np.concatenate([model.margins(place.base), members.margins(place.base)])
    limits = np.concatenate([place.room, np.full(m, np.inf)])
    result = linprog(
        np.concatenate([np.zeros(2 * d), np.ones(m)]),
        A_ub=np.hstack([-weights, weights, slack]),
        b_ub=own - MARGIN,
        bounds=np.stack([np.zeros(2 * d + m), limits], axis=1),
        method="highs",
    )
    return np.asarray(result.x[2 * d :]) if result.status == 0 else np.zeros(m)
